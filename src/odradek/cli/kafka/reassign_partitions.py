"""`kafka-reassign-partitions`: replicas moved to other brokers, planned, carried out, followed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from odradek.cli.kafka import log_dir_moves
from odradek.cli.kafka.reassignment_throttle import lift, limit, limit_log_dirs, warn
from odradek.cli.kafka.script import Misused, Script, ask, needed, the_one
from odradek.cli.reaching.naming import brokers_named, topics_named
from odradek.cli.replicas import chosen_log_dirs
from odradek.cli.replicas.reassignment_file import Plan, plan_of, text_of
from odradek.cli.words.failing import Failed
from odradek.cli.words.numbers import Whole
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.ids import TopicPartition
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest

TIMEOUT_MS = 30_000
Replicas = Mapping[TopicPartition, Sequence[int]]


@click.command("kafka-reassign-partitions", cls=Script)
@click.option("--list", "list_", is_flag=True)
@click.option("--generate", is_flag=True)
@click.option("--execute", is_flag=True)
@click.option("--verify", is_flag=True)
@click.option("--cancel", is_flag=True)
@click.option("--topics-to-move-json-file", type=click.Path(path_type=Path, exists=True))
@click.option("--reassignment-json-file", type=click.Path(path_type=Path, exists=True))
@click.option("--broker-list", "numbers", metavar="1,2,3")
@click.option("--additional", is_flag=True, help="Change a reassignment that is under way.")
@click.option("--throttle", type=Whole(min=0), metavar="BYTES", help="In a second.")
@click.option(
    "--replica-alter-log-dirs-throttle",
    "log_dirs_throttle",
    type=Whole(min=0),
    metavar="BYTES",
    help="In a second, between the log dirs of a broker.",
)
@click.option(
    "--timeout",
    "timeout_ms",
    type=Whole(min=0),
    default=10_000,
    metavar="MS",
    help="How long moves between log dirs may take to begin.",
)
@click.option("--preserve-throttles", is_flag=True, help="Leave throttles set.")
@click.option("--disable-rack-aware", is_flag=True, help="Taken and ignored.")
def command(
    *, list_: bool, generate: bool, execute: bool, verify: bool, cancel: bool, **said: Any
) -> None:
    """Kafka's script for reassignments."""
    action = the_one(
        {
            "list": list_,
            "generate": generate,
            "execute": execute,
            "verify": verify,
            "cancel": cancel,
        }
    )
    if action == "list":
        ask(_list)
    elif action == "generate":
        ask(lambda cluster: _generate(cluster, said))
    else:
        file = needed(said["reassignment_json_file"], "reassignment-json-file")
        wanted = plan_of(file)
        if action == "execute":
            ask(lambda cluster: _execute(cluster, wanted, said))
        elif action == "verify":
            ask(lambda cluster: _verify(cluster, wanted, said))
        else:
            ask(lambda cluster: _cancel(cluster, wanted, said))


async def _current(cluster: Cluster, topics: Sequence[str]) -> dict[TopicPartition, list[int]]:
    return {
        TopicPartition(topic.name or "", row.partition_index): list(row.replica_nodes)
        for topic in await topics_named(cluster, topics)
        for row in topic.partitions
    }


async def _ongoing(cluster: Cluster) -> dict[TopicPartition, Any]:
    answer = await (await cluster.controller()).ask(ListPartitionReassignmentsRequest(TIMEOUT_MS))
    check(answer.error_code, answer.error_message)
    return {
        TopicPartition(topic.name, row.partition_index): row
        for topic in answer.topics
        for row in topic.partitions
    }


async def _list(cluster: Cluster) -> None:
    found = await _ongoing(cluster)
    if not found:
        click.echo("No partition reassignments found.")
        return
    click.echo("Current partition reassignments:")
    for it, row in sorted(found.items()):
        replicas, adding, removing = (
            ",".join(map(str, them))
            for them in (row.replicas, row.adding_replicas, row.removing_replicas)
        )
        changes = "".join(
            f"{name}: {them}. "
            for name, them in (("adding", adding), ("removing", removing))
            if them
        )
        click.echo(f"{it}: replicas: {replicas}. {changes}".rstrip())


async def _generate(cluster: Cluster, said: dict[str, Any]) -> None:
    file = needed(said["topics_to_move_json_file"], "topics-to-move-json-file")
    numbers = [int(it) for it in needed(said["numbers"], "broker-list").split(",")]
    topics = [it["topic"] for it in json.loads(file.read_text())["topics"]]
    brokers = await brokers_named(cluster, numbers)
    current = await _current(cluster, topics)
    proposed = {}
    for number, (it, replicas) in enumerate(sorted(current.items())):
        if len(replicas) > len(brokers):
            raise Failed(f"{it} has {len(replicas)} replicas, and {len(brokers)} brokers are named")
        turn, shift = divmod(number, len(brokers))
        others = [*brokers[shift + 1 :], *brokers[:shift]]
        at = turn % len(others) if others else 0
        proposed[it] = [brokers[shift], *others[at:], *others[:at]][: len(replicas)]
    click.echo(f"Current partition replica assignment\n{text_of(current)}\n")
    click.echo(f"Proposed partition reassignment configuration\n{text_of(proposed)}")


async def _alter(cluster: Cluster, wanted: Mapping[TopicPartition, Sequence[int] | None]) -> None:
    topics: dict[str, list[ReassignablePartition]] = {}
    for it, replicas in wanted.items():
        row = ReassignablePartition(it.partition, None if replicas is None else list(replicas))
        topics.setdefault(it.topic, []).append(row)
    rows = [ReassignableTopic(name, them) for name, them in topics.items()]
    request = AlterPartitionReassignmentsRequest(TIMEOUT_MS, topics=rows)
    answer = await (await cluster.controller()).ask(request)
    check(answer.error_code, answer.error_message)
    for topic in answer.responses:
        for row in topic.partitions:
            about = "" if row.error_message else f"{topic.name}-{row.partition_index}"
            check(row.error_code, row.error_message, about=about)


async def _execute(cluster: Cluster, wanted: Plan, said: dict[str, Any]) -> None:
    under_way = [str(it) for it in await _ongoing(cluster)]
    if under_way and not said["additional"]:
        raise Failed(
            f"Cannot execute because there are existing partition assignments: "
            f"{', '.join(under_way)}",
            "--additional changes them, --cancel ends them",
        )
    replicas = wanted.replicas
    current = await _current(cluster, sorted({it.topic for it in replicas}))
    before = {it: current[it] for it in replicas if it in current}
    if missing := [str(it) for it in replicas if it not in current]:
        raise Misused(f"The proposed assignment contains non-existent partitions: {missing}")
    await chosen_log_dirs.check(cluster, wanted.log_dirs)
    click.echo(f"Current partition replica assignment\n\n{text_of(before)}\n")
    click.echo("Save this to use as the --reassignment-json-file option during rollback")
    await _limit(cluster, before, wanted, said)
    await chosen_log_dirs.remember(cluster, wanted.log_dirs, before)
    await _alter(cluster, replicas)
    word = "reassignment" if len(replicas) == 1 else "reassignments"
    names = ",".join(map(str, sorted(replicas)))
    click.echo(f"Successfully started partition {word} for {names}")
    await log_dir_moves.begin(cluster, wanted.log_dirs, said["timeout_ms"])


async def _limit(cluster: Cluster, before: Replicas, wanted: Plan, said: dict[str, Any]) -> None:
    between_brokers, between_dirs = said["throttle"], said["log_dirs_throttle"]
    if between_brokers is not None or between_dirs is not None:
        warn()
    if between_brokers is not None:
        await limit(cluster, before, wanted.replicas, between_brokers)
    if between_dirs is not None:
        await limit_log_dirs(cluster, {it.broker for it in wanted.log_dirs}, between_dirs)


async def _verify(cluster: Cluster, wanted: Plan, said: dict[str, Any]) -> None:
    ongoing = await _ongoing(cluster)
    current = await _current(cluster, sorted({it.topic for it in wanted.replicas}))
    click.echo("Status of partition reassignment:")
    for it, replicas in sorted(wanted.replicas.items()):
        if it in ongoing:
            click.echo(f"Reassignment of partition {it} is still in progress.")
        elif current.get(it) == list(replicas):
            click.echo(f"Reassignment of partition {it} is completed.")
        else:
            there = ",".join(map(str, current.get(it, ())))
            click.echo(
                f"There is no active reassignment of partition {it}, but replica set is {there} "
                f"rather than {','.join(map(str, replicas))}."
            )
    states = await log_dir_moves.states_of(cluster, wanted.log_dirs)
    click.echo("\n".join(state.text for state in states))
    is_over = not ongoing and all(state.is_over for state in states)
    if is_over and not said["preserve_throttles"]:
        await lift(cluster, wanted.replicas)


async def _cancel(cluster: Cluster, wanted: Plan, said: dict[str, Any]) -> None:
    ongoing = await _ongoing(cluster)
    ended = [it for it in sorted(wanted.replicas) if it in ongoing]
    if not ended:
        click.echo("None of the specified partition reassignments are active.")
    else:
        await _alter(cluster, dict.fromkeys(ended))
        word = "reassignment" if len(ended) == 1 else "reassignments"
        click.echo(f"Successfully cancelled partition {word} for: {','.join(map(str, ended))}")
    states = await log_dir_moves.states_of(cluster, wanted.log_dirs)
    back = {it.replica: it.current for it in states if it.future and it.current}
    if not back:
        click.echo("None of the specified partition moves are active.")
    await log_dir_moves.begin(cluster, back, said["timeout_ms"])
    if not said["preserve_throttles"]:
        await lift(cluster, wanted.replicas)

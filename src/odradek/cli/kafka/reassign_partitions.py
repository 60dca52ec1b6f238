"""`kafka-reassign-partitions`: replicas moved to other brokers, planned, carried out, followed."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from odradek.cli.failing import Failed
from odradek.cli.kafka.reassignment_throttle import lift, limit
from odradek.cli.kafka.script import Misused, Script, ask, needed, the_one
from odradek.cli.naming import brokers_named, topics_named
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
@click.option("--throttle", type=click.IntRange(min=0), metavar="BYTES", help="In a second.")
@click.option("--preserve-throttles", is_flag=True, help="With --verify: leave throttles set.")
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
        wanted = plan_of(file.read_text())
        if action == "execute":
            ask(lambda cluster: _execute(cluster, wanted, said))
        elif action == "verify":
            ask(lambda cluster: _verify(cluster, wanted, said))
        else:
            ask(lambda cluster: _cancel(cluster, wanted))


def plan_of(text: str) -> dict[TopicPartition, list[int]]:
    """What a file of assignments says."""
    try:
        rows = json.loads(text)["partitions"]
        if any(log_dir != "any" for it in rows for log_dir in it.get("log_dirs", ())):
            raise Failed(
                "log_dirs other than any are not moved by this script",
                "odradek logdirs move DIR TOPICS does, once the replicas are on their brokers",
            )
        return {TopicPartition(it["topic"], it["partition"]): it["replicas"] for it in rows}
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"the reassignment json file is malformed: {error!r}") from None


def text_of(assignment: Replicas) -> str:
    """As Kafka's script prints it."""
    rows = [
        {
            "topic": it.topic,
            "partition": it.partition,
            "replicas": list(replicas),
            "log_dirs": ["any"] * len(replicas),
        }
        for it, replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": rows}, separators=(",", ":"))


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


async def _execute(cluster: Cluster, wanted: Replicas, said: dict[str, Any]) -> None:
    under_way = [str(it) for it in await _ongoing(cluster)]
    if under_way and not said["additional"]:
        raise Failed(
            f"Cannot execute because there are existing partition assignments: "
            f"{', '.join(under_way)}",
            "--additional changes them, --cancel ends them",
        )
    current = await _current(cluster, sorted({it.topic for it in wanted}))
    before = {it: current[it] for it in wanted if it in current}
    if missing := [str(it) for it in wanted if it not in current]:
        raise Misused(f"The proposed assignment contains non-existent partitions: {missing}")
    click.echo(f"Current partition replica assignment\n\n{text_of(before)}\n")
    click.echo("Save this to use as the --reassignment-json-file option during rollback")
    if said["throttle"] is not None:
        await limit(cluster, before, wanted, said["throttle"])
    await _alter(cluster, wanted)
    word = "reassignment" if len(wanted) == 1 else "reassignments"
    names = ",".join(map(str, sorted(wanted)))
    click.echo(f"Successfully started partition {word} for {names}")


async def _verify(cluster: Cluster, wanted: Replicas, said: dict[str, Any]) -> None:
    ongoing = await _ongoing(cluster)
    current = await _current(cluster, sorted({it.topic for it in wanted}))
    click.echo("Status of partition reassignment:")
    for it, replicas in sorted(wanted.items()):
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
    if ongoing.keys().isdisjoint(wanted) and not said["preserve_throttles"]:
        click.echo()
        await lift(cluster, wanted)


async def _cancel(cluster: Cluster, wanted: Replicas) -> None:
    ongoing = await _ongoing(cluster)
    ended = [it for it in sorted(wanted) if it in ongoing]
    if not ended:
        click.echo("None of the specified partition reassignments are active.")
    else:
        await _alter(cluster, dict.fromkeys(ended))
        names = ", ".join(map(str, ended))
        click.echo(f"Successfully cancelled partition reassignments for: {names}")
    click.echo("None of the specified partition moves are active.")

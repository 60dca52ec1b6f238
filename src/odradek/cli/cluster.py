"""`odradek cluster`: what the cluster is, and what is wrong with it."""

import sys
from typing import NamedTuple

import click

from odradek.cli.broker import COLUMNS as BROKER_COLUMNS
from odradek.cli.broker import rows_of
from odradek.cli.failing import FAILED
from odradek.cli.grammar import Noun
from odradek.cli.logdirs import log_dirs_of
from odradek.cli.options import options
from odradek.cli.printing import print_json, show_table
from odradek.cli.talking import talk
from odradek.cli.topic import counted
from odradek.client.cluster import Cluster
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.peers.errors import ConnectionGone
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponsePartition


class Sick(NamedTuple):
    """One thing that is wrong: of what kind, where, and why."""

    problem: str
    where: str
    why: str


@click.group(cls=Noun)
def command() -> None:
    """The cluster: its brokers, controller and health."""


@command.command()
def describe() -> None:
    """Describe the cluster: id, controller, brokers, number of topics and partitions."""
    answer = talk(lambda cluster: cluster.refresh(None))
    partitions = sum(len(topic.partitions) for topic in answer.topics)
    rows = rows_of(answer)
    controller = answer.controller_id if answer.controller_id >= 0 else None
    if options().as_json:
        brokers = [dict(zip(BROKER_COLUMNS, row, strict=True)) for row in rows]
        counts = {"topics": len(answer.topics), "partitions": partitions}
        cluster = {"cluster_id": answer.cluster_id, "controller": controller}
        print_json({**cluster, **counts, "brokers": brokers})
        return
    topics = f"{counted(len(answer.topics), 'topic')}, {counted(partitions, 'partition')}"
    who = "no controller" if controller is None else f"controller {controller}"
    click.echo(f"cluster {answer.cluster_id}  {who}  {topics}")
    show_table(BROKER_COLUMNS, rows)


@command.command()
def health() -> None:
    """Say whether the cluster is healthy, and if not, what is wrong and why.

    Exit code 1 if a partition has no leader or is out of sync, a broker does not answer, a log dir
    is offline, or there is no controller.
    """

    async def ask(cluster: Cluster) -> list[Sick]:
        answer = await cluster.refresh(None)
        none = Sick("no controller", "cluster", "none is elected")
        found = [] if answer.controller_id >= 0 else [none]
        return [*found, *await _sick_brokers(cluster, answer), *sick_partitions(answer)]

    found = talk(ask)
    if options().as_json:
        print_json({"healthy": not found, "problems": [it._asdict() for it in found]})
    elif not found:
        click.echo("healthy: every partition has a leader and all its replicas are in sync")
    else:
        show_table(Sick._fields, found)
    if found:
        sys.exit(FAILED)


def sick_partitions(answer: MetadataResponse) -> list[Sick]:
    """Those without a leader, and those with replicas out of sync."""
    alive = {broker.node_id for broker in answer.brokers}
    found = []
    for topic in sorted(answer.topics, key=lambda it: it.name or ""):
        for row in sorted(topic.partitions, key=lambda it: it.partition_index):
            where = f"{topic.name}-{row.partition_index}"
            behind = [it for it in row.replica_nodes if it not in row.isr_nodes]
            if row.leader_id < 0:
                found.append(Sick("no leader", where, _why_no_leader(row, alive)))
            elif behind:
                why = ", ".join(f"{it} {_state(it, row, alive)}" for it in behind)
                found.append(Sick("out of sync", where, f"broker {why}"))
    return found


def _why_no_leader(row: MetadataResponsePartition, alive: set[int]) -> str:
    dead = [it for it in row.isr_nodes if it not in alive]
    if dead:
        return f"in-sync broker {', '.join(map(str, dead))} is not registered"
    offline = [it for it in row.isr_nodes if it in row.offline_replicas]
    if offline:
        return f"log dir offline on in-sync broker {', '.join(map(str, offline))}"
    return "no leader is elected yet"


def _state(broker: int, row: MetadataResponsePartition, alive: set[int]) -> str:
    if broker not in alive:
        return "is not registered"
    return "has the log dir offline" if broker in row.offline_replicas else "lags"


async def _sick_brokers(cluster: Cluster, answer: MetadataResponse) -> list[Sick]:
    """Those that do not answer, and log dirs that are offline."""
    found: list[Sick] = []
    for row in sorted(answer.brokers, key=lambda it: it.node_id):
        try:
            log_dirs = await log_dirs_of(cluster, BrokerId(row.node_id))
        except ConnectionGone as error:
            found.append(Sick("no answer", f"broker {row.node_id}", str(error)))
            continue
        found += [
            Sick("log dir offline", f"broker {row.node_id}", it.log_dir)
            for it in log_dirs
            if it.error_code != ErrorCode.NONE
        ]
    return found

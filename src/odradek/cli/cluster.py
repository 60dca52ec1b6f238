"""`odradek cluster`: what the cluster is, and what is wrong with it."""

import sys

import click

from odradek.cli.broker import COLUMNS as BROKER_COLUMNS
from odradek.cli.broker import rows_of
from odradek.cli.cluster_health import Sick, sick
from odradek.cli.failing import FAILED
from odradek.cli.grammar import Noun
from odradek.cli.options import options
from odradek.cli.printing import print_json, show_table
from odradek.cli.talking import talk
from odradek.cli.topic import counted


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

    Exit code 1 if a partition has no leader or is out of sync, a reassignment or a deletion waits,
    a broker does not answer, a log dir is offline, or there is no controller.
    """
    found = talk(sick)
    if options().as_json:
        problems = [{**it._asdict(), "partitions": dict(it.partitions)} for it in found]
        print_json({"healthy": not found, "problems": problems})
    elif not found:
        click.echo("healthy: every partition has a leader and all its replicas are in sync")
    else:
        show_table(Sick._fields, [(it.cause, it.problem, it.where) for it in found])
    if found:
        sys.exit(FAILED)

"""`odradek cluster`: what the cluster is, and what is wrong with it."""

import sys
from collections.abc import Sequence

import click

from odradek.cli.brokers.broker import COLUMNS as BROKER_COLUMNS
from odradek.cli.brokers.broker import rows_of
from odradek.cli.brokers.cluster_features import features
from odradek.cli.brokers.cluster_health import sick
from odradek.cli.brokers.cluster_roll import roll
from odradek.cli.brokers.restart_order import order_of
from odradek.cli.brokers.sick import COLUMNS
from odradek.cli.reaching.acting_controller import Seen, acting_controller, tell_doubt
from odradek.cli.reaching.talking import talk
from odradek.cli.showing.printing import is_too_wide, print_json, show_table, tell
from odradek.cli.words.failing import FAILED
from odradek.cli.words.grammar import Noun
from odradek.cli.words.options import options, pasted
from odradek.client.admin.placement import reassignments_if_known
from odradek.client.cluster import Cluster
from odradek.model.counting import counted
from odradek.wire.messages.metadata import MetadataResponse


@click.group(cls=Noun)
def command() -> None:
    """The cluster: its brokers, controller and health."""


@command.command()
def describe() -> None:
    """Describe the cluster: id, controller, brokers, number of topics and partitions."""

    async def ask(cluster: Cluster) -> tuple[MetadataResponse, list[tuple[object, ...]], Seen]:
        answer, moves = await cluster.refresh(None), await reassignments_if_known(cluster)
        seen = await acting_controller(cluster, answer.controller_id)
        return answer, rows_of(answer, moves, seen), seen

    answer, rows, seen = talk(ask)
    partitions = sum(len(topic.partitions) for topic in answer.topics)
    controller = seen.controller if seen.is_known else None
    if options().as_json:
        brokers = [dict(zip(BROKER_COLUMNS, row, strict=True)) for row in rows]
        counts = {"topics": len(answer.topics), "partitions": partitions}
        cluster = {"cluster_id": answer.cluster_id, "controller": controller}
        print_json({**cluster, **counts, "brokers": brokers})
        return
    topics = f"{counted(len(answer.topics), 'topic')}, {counted(partitions, 'partition')}"
    who = "controller unknown" if not seen.is_known else "no controller"
    if controller is not None:
        who = f"controller {controller}"
    tell(f"cluster {answer.cluster_id}  {who}  {topics}")
    show_table(BROKER_COLUMNS, rows)
    tell_doubt(seen)


@command.command()
def health() -> None:
    """Say whether the cluster is healthy, and if not, what is wrong and why.

    Exit code 1 if a partition has no leader or is out of sync, a reassignment waits or stands, a
    deletion waits, a broker does not answer, a log dir is offline, a disk hangs, is nearly full or
    may fail soon, a certificate ends soon, or there is no controller or it moves often.
    """
    found = talk(sick)
    if options().as_json:
        problems = [{**it._asdict(), "partitions": dict(it.partitions)} for it in found]
        print_json({"healthy": not found, "problems": problems})
    elif not found:
        click.echo("healthy: every partition has a leader and all its replicas are in sync")
    else:
        rows = [(pasted(it.cause), it.problem, it.where) for it in found]
        if len(rows) > 1 and is_too_wide(COLUMNS, rows):
            show_by_cause(rows)
        else:
            show_table(COLUMNS, rows)
    if found:
        sys.exit(FAILED)


def show_by_cause(rows: Sequence[tuple[str, str, str]]) -> None:
    """For a terminal that would break the lines of a table: what follows is below its cause."""
    causes = dict.fromkeys(cause for cause, _, _ in rows)
    for cause in causes:
        click.echo(cause)
        for problem, where in (it[1:] for it in rows if it[0] == cause):
            click.echo(f"  {problem}" + (f": {where}" if where != "-" else ""))


command.add_command(roll)
command.add_command(features)


@command.command("restart-order")
def restart_order() -> None:
    """Show in which order brokers are restarted best: the controller last.

    So it moves once. Preferred brokers come just before it, so that one of them is up when it
    moves. Wait after each until `cluster health` finds nothing, as `odradek cluster roll` does.
    """
    order = talk(order_of)
    if options().as_json:
        print_json(order)
    else:
        for broker in order:
            click.echo(broker)
        if sys.stdout.isatty():
            click.echo(pasted("one at a time; before the next: odradek cluster health"), err=True)

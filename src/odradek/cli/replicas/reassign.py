"""`odradek partition reassign` and `reassignments`: replicas moved to other brokers."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import click

from odradek.cli.reaching.naming import TOPIC, brokers_named
from odradek.cli.reaching.talking import talk
from odradek.cli.replicas import chosen_log_dirs, throttle
from odradek.cli.replicas.cordon import cordoned
from odradek.cli.replicas.log_dir_throttle import brokers_that_copy, change_between_log_dirs
from odradek.cli.replicas.moving import (
    COLUMNS,
    How,
    Placement,
    Rows,
    cancel,
    check_known,
    move,
    partitions_named,
    placement_of,
)
from odradek.cli.replicas.reassigning import sizes_of, waits_for
from odradek.cli.replicas.reassignment_file import Plan, plan_of
from odradek.cli.replicas.throttle import LIFT, RATE, among
from odradek.cli.showing.cells import Size
from odradek.cli.showing.printing import show, show_done, show_table
from odradek.cli.words.failing import FAILED, Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import pasted
from odradek.client.admin.placement import Ongoing, reassignments
from odradek.client.admin.reassignment_plan import Room, TooFewBrokers, planned
from odradek.client.cluster import Cluster
from odradek.model.counting import counted
from odradek.model.ids import TopicPartition

IN_PLACE: Final = "nothing to do: every partition is where it should be, or is being moved there"
NOTHING_MOVES: Final = "nothing to do: no partition is being moved"


def ids(text: str) -> tuple[int, ...]:
    """`1,2,3`."""
    try:
        return tuple(int(it) for it in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of broker ids such as 1,2,3") from None


@click.command(name="reassign", cls=Verb)
@click.argument("topics", nargs=-1, type=TOPIC)
@click.option("-p", "--partition", "numbers", type=int, multiple=True, help="Only this partition.")
@click.option(
    "--replicas", metavar="IDS", help="Exactly these replicas, the preferred leader first."
)
@click.option("--brokers", metavar="IDS", help="Spread over these brokers, moving little.")
@click.option("--without", "without", metavar="IDS", help="Spread over all brokers but these.")
@click.option(
    "-r",
    "--replication-factor",
    "factor",
    type=Whole(min=1),
    help="So many replicas of each partition.",
)
@click.option(
    "--file",
    type=click.Path(exists=True, path_type=Path),
    help="A plan of kafka-reassign-partitions, in JSON.",
)
@click.option("--cancel", "is_cancel", is_flag=True, help="Put back what is being moved.")
@click.option("--throttle", "rate", type=RATE, help="Bytes a second, such as 20M, while it lasts.")
@click.option("--no-wait", is_flag=True, help="Return once it has begun.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
def reassign_(  # noqa: PLR0913 - one for each option
    *,
    topics: tuple[str, ...],
    numbers: tuple[int, ...],
    replicas: str | None,
    brokers: str | None,
    without: str | None,
    factor: int | None,
    file: Path | None,
    is_cancel: bool,
    rate: int | None,
    no_wait: bool,
    dry_run: bool,
) -> None:
    """Move partitions to other brokers.

    Without TOPICS all are moved, internal ones too. It shows what is moved, begins, and waits until
    it is over; interrupted, it goes on in the cluster. `--dry-run` only shows the plan.
    """
    said = [it for it in (replicas, brokers, without, file, is_cancel or None) if it is not None]
    if len(said) > 1 or not (said or factor):
        names = "--replicas, --brokers, --without, --replication-factor, --file or --cancel"
        raise click.UsageError(f"give one of {names}")

    plan = None if file is None else plan_of(file)
    how = How(wait=not no_wait, dry_run=dry_run, rate=rate)

    async def ask(cluster: Cluster) -> tuple[Rows, bool]:
        placement = await placement_of(cluster, await partitions_named(cluster, topics, numbers))
        if is_cancel and not placement.moving:
            await _tell_what_is_left(cluster)
        if is_cancel:
            return await cancel(cluster, placement, dry_run=dry_run)
        if plan is not None:
            return await _carry_out(cluster, plan, placement, how)
        if replicas is not None:
            await check_known(cluster, ids(replicas), placement)
            targets = dict.fromkeys(placement.wanted, ids(replicas))
        else:
            await check_known(cluster, ids(without) if without else (), placement)
            room = await _room(cluster, brokers, without)
            try:
                targets = planned(placement.wanted, room, factor)
            except TooFewBrokers as error:
                next_step = "name more brokers, or fewer replicas with --replication-factor"
                raise Failed(str(error), next_step) from None
        return await move(cluster, targets, placement, how)

    rows, failed = talk(ask, endless=True)
    show_done(COLUMNS, rows, NOTHING_MOVES if is_cancel else IN_PLACE)
    if failed:
        sys.exit(FAILED)


async def _tell_what_is_left(cluster: Cluster) -> None:
    """For a cancel of partitions of which none is being moved."""
    others = await reassignments(cluster)
    if others:
        text = f"only others are, {next(iter(others))} for instance"
        click.echo(f"odradek: {text}: {pasted('odradek partition reassignments')}", err=True)
    for text in await _throttles(cluster):
        click.echo(f"odradek: {text}; {pasted(LIFT)} takes it away", err=True)


async def _room(cluster: Cluster, brokers: str | None, without: str | None) -> Room:
    known = await brokers_named(cluster, ids(brokers) if brokers else ())
    gone = set(ids(without)) if without else set()
    closed = () if brokers else await cordoned(cluster, asks_controller=True)
    answer = await cluster.refresh([])
    racks = {it.node_id: it.rack for it in answer.brokers if it.node_id in set(known) - gone}
    return Room(racks, frozenset(closed).intersection(racks))


async def _carry_out(
    cluster: Cluster, plan: Plan, placement: Placement, how: How
) -> tuple[Rows, bool]:
    """A file's: log dirs of new replicas are told before these come, the others move then."""
    whole = {it: placement.whole.get(it, ()) for it in plan.replicas}
    targets = {broker for to in plan.replicas.values() for broker in to}
    await check_known(cluster, sorted(targets), placement)
    await chosen_log_dirs.check(cluster, plan.log_dirs)
    if not how.dry_run:
        await chosen_log_dirs.remember(cluster, plan.log_dirs, whole)
    rows, failed = await move(cluster, plan.replicas, placement, how)
    more, more_failed = await chosen_log_dirs.move(
        cluster, plan.log_dirs, dry_run=how.dry_run, wait=how.wait
    )
    return rows + more, failed or more_failed


@click.command(name="reassignments", cls=Verb)
def list_reassignments() -> None:
    """List partitions that are being moved, with what is copied of each."""
    held_up = ""

    async def ask(cluster: Cluster) -> Rows:
        nonlocal held_up
        ongoing = await reassignments(cluster)
        await cluster.refresh([])
        held_up = waits_for(
            ongoing, {it: row.target for it, row in ongoing.items()}, cluster.brokers
        )
        sizes = await sizes_of(cluster, {it for row in ongoing.values() for it in row.replicas})
        rows: Rows = []
        for it, row in ongoing.items():
            whole = max((sizes.get((it, broker), 0) for broker in row.replicas), default=0)
            copied = sum(sizes.get((it, broker), 0) for broker in row.adding)
            total = whole * len(row.adding)
            adding, removing = list(row.adding), list(row.removing)
            rows.append((str(it), list(row.target), adding, removing, Size(copied), Size(total)))
        return rows

    columns = ("partition", "to", "adding", "removing", "copied", "bytes")
    show_table(columns, talk(ask), "no partition is being moved")
    if held_up:
        click.echo(held_up, err=True)
    for text in talk(_throttles):
        click.echo(pasted(f"{text}; {throttle.LIFT} takes it away"), err=True)


async def _throttles(cluster: Cluster) -> list[str]:
    """Those that are set; what topics name counts as left only where nothing is moved."""
    found = await throttle.rates(cluster)
    topics = throttle.topics_left(await throttle.named_replicas(cluster))
    left = throttle.told_of_left(found.moves, () if await reassignments(cluster) else topics)
    told = [left] if left else []
    return told + ([throttle.told_of_log_dirs(found.log_dirs)] if found.log_dirs else [])


@click.command(name="throttle", cls=Verb)
@click.argument("rate", metavar="RATE|none")
def throttle_(*, rate: str) -> None:
    """Change the throttle of the moves that are under way, or take it away.

    RATE is in bytes a second, such as 20M, between brokers and between log dirs. With `none` every
    throttle is taken away that was set on brokers and topics, also one that another command has
    left behind.
    """
    wanted = None if rate == "none" else RATE.convert(rate, None, None)

    async def ask(cluster: Cluster) -> tuple[str, dict[str, object]]:
        await cluster.refresh([])
        if wanted is None:
            brokers, topics = await throttle.lift_all(cluster)
            what = f"{counted(len(brokers), 'broker')}, {counted(len(topics), 'topic')}"
            return f"throttle taken from {what}", {"brokers": brokers, "topics": topics}
        ongoing = await reassignments(cluster)
        copying = await brokers_that_copy(cluster)
        if not ongoing and not copying:
            next_step = "partition reassign, broker drain and logdirs move take --throttle"
            raise Failed("no partition is being moved: there is nothing to throttle", next_step)
        bounded = []
        if ongoing:
            await change_throttle(cluster, ongoing, wanted)
            bounded.append(counted(len(ongoing), "reassignment"))
        if copying:
            await change_between_log_dirs(cluster, copying, wanted)
            bounded.append(f"moves between log dirs of {among(copying)}")
        text = f"{', '.join(bounded)}: {throttle.text_of(wanted)}"
        stays = f"where no command waits for the moves, it stays behind them: {LIFT}"
        click.echo(pasted(stays), err=True)
        fields = {"reassignments": len(ongoing), "log_dirs_of": copying}
        return text, {**fields, "bytes_per_second": wanted}

    text, fields = talk(ask)
    show(fields, text)


async def change_throttle(
    cluster: Cluster, ongoing: Mapping[TopicPartition, Ongoing], rate: int
) -> None:
    """Of these moves; where they have ended meanwhile their verb cannot take it away any more."""
    whole = {it: row.origin for it, row in ongoing.items()}
    targets = {it: row.target for it, row in ongoing.items()}
    await throttle.limit(cluster, whole, targets, rate)
    now = await reassignments(cluster)
    over = {it: to for it, to in targets.items() if it not in now}
    if over:
        await throttle.lift(cluster, over)
    if len(over) == len(targets):
        raise Failed("the moves have ended meanwhile: there is nothing to throttle any more")

"""`odradek partition`: where replicas lie and who leads them."""

import sys
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path

import click

from odradek.cli import chosen_log_dirs
from odradek.cli.confirming import confirm
from odradek.cli.failing import FAILED, Failed
from odradek.cli.grammar import DestroyingVerb, Noun
from odradek.cli.naming import TOPIC, brokers_named, topics_named
from odradek.cli.printing import Size, show_table
from odradek.cli.reassigning import Targets, bytes_to_copy, sizes_of, wait_for
from odradek.cli.reassignment_file import Plan, plan_of
from odradek.cli.talking import talk
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.client.placement_admin import Election, Outcomes, elect, reassign, reassignments
from odradek.client.reassignment_plan import Room, TooFewBrokers, planned
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.metadata import MetadataResponsePartition

COLUMNS = ("partition", "from", "to", "bytes", "state")
WAITS = "waits until it is in sync"
Rows = list[tuple[object, ...]]
Found = dict[TopicPartition, MetadataResponsePartition]

_numbers = click.option(
    "-p", "--partition", "numbers", type=int, multiple=True, help="Only this partition."
)
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be done.")


@click.group(cls=Noun)
def command() -> None:
    """Partitions: reassign replicas, elect leaders."""


def _ids(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(it) for it in text.split(","))
    except ValueError:
        raise click.BadParameter(f"{text!r} is no list of broker ids such as 1,2,3") from None


async def _partitions(cluster: Cluster, names: tuple[str, ...], numbers: Iterable[int]) -> Found:
    wanted = set(numbers)
    found = {
        TopicPartition(topic.name or "", row.partition_index): row
        for topic in await topics_named(cluster, names)
        for row in sorted(topic.partitions, key=lambda it: it.partition_index)
        if not wanted or row.partition_index in wanted
    }
    if lacking := wanted - {it.partition for it in found}:
        who = f"topic {names[0]!r} has no" if len(names) == 1 else "no topic has a"
        raise Failed(f"{who} partition {min(lacking)}", "odradek topic describe")
    return found


# Reassignment


@command.command(name="reassign")
@click.argument("topics", nargs=-1, type=TOPIC)
@_numbers
@click.option(
    "--replicas", metavar="IDS", help="Exactly these replicas, the preferred leader first."
)
@click.option("--brokers", metavar="IDS", help="Spread over these brokers, moving little.")
@click.option("--without", "without", metavar="IDS", help="Spread over all brokers but these.")
@click.option(
    "-r", "--replication-factor", "factor", type=int, help="So many replicas of each partition."
)
@click.option(
    "--file",
    type=click.Path(exists=True, path_type=Path),
    help="A plan of kafka-reassign-partitions, in JSON.",
)
@click.option("--cancel", is_flag=True, help="Put back what is being moved.")
@click.option("--no-wait", is_flag=True, help="Return once it has begun.")
@_dry_run
def reassign_(  # noqa: PLR0913 - one for each option
    *,
    topics: tuple[str, ...],
    numbers: tuple[int, ...],
    replicas: str | None,
    brokers: str | None,
    without: str | None,
    factor: int | None,
    file: Path | None,
    cancel: bool,
    no_wait: bool,
    dry_run: bool,
) -> None:
    """Move partitions to other brokers.

    Without TOPICS all are moved, but internal ones. It shows what is moved, begins, and waits until
    it is over; interrupted, it goes on in the cluster. `--dry-run` only shows the plan.
    """
    said = [it for it in (replicas, brokers, without, file, cancel or None) if it is not None]
    if len(said) > 1 or not (said or factor):
        names = "--replicas, --brokers, --without, --replication-factor, --file or --cancel"
        raise click.UsageError(f"give one of {names}")

    plan = None if file is None else plan_of(file)

    async def ask(cluster: Cluster) -> tuple[Rows, bool]:
        found = await _partitions(cluster, topics, numbers)
        before = {it: tuple(row.replica_nodes) for it, row in found.items()}
        if cancel:
            return await _cancel(cluster, set(found), dry_run=dry_run)
        if plan is not None:
            return await _carry_out(cluster, plan, before, wait=not no_wait, dry_run=dry_run)
        if replicas is not None:
            targets = dict.fromkeys(found, _ids(replicas))
        else:
            room = await _room(cluster, brokers, without)
            try:
                targets = planned(before, room, factor)
            except TooFewBrokers as error:
                next_step = "name more brokers, or fewer replicas with --replication-factor"
                raise Failed(str(error), next_step) from None
        return await _move(cluster, targets, before, wait=not no_wait, dry_run=dry_run)

    rows, failed = talk(ask, endless=True)
    nothing = "no partition is being moved" if cancel else "every partition is where it should be"
    show_table(COLUMNS, rows, nothing)
    if failed:
        sys.exit(FAILED)


async def _room(cluster: Cluster, brokers: str | None, without: str | None) -> Room:
    known = await brokers_named(cluster, _ids(brokers) if brokers else ())
    gone = set(_ids(without)) if without else set()
    answer = await cluster.refresh([])
    return Room({it.node_id: it.rack for it in answer.brokers if it.node_id in set(known) - gone})


async def _cancel(
    cluster: Cluster, wanted: set[TopicPartition], *, dry_run: bool
) -> tuple[Rows, bool]:
    ongoing = {it: row for it, row in (await reassignments(cluster)).items() if it in wanted}
    outcomes: Outcomes = {}
    if ongoing and not dry_run:
        outcomes = await reassign(cluster, dict.fromkeys(ongoing))
    rows: Rows = []
    for it, row in ongoing.items():
        back = [broker for broker in row.replicas if broker not in row.adding]
        state = "planned" if dry_run else str(outcomes.get(it) or "cancelled")
        rows.append((str(it), list(row.target), back, None, state))
    return rows, any(outcomes.values())


async def _carry_out(
    cluster: Cluster,
    plan: Plan,
    known: Mapping[TopicPartition, tuple[int, ...]],
    *,
    wait: bool,
    dry_run: bool,
) -> tuple[Rows, bool]:
    """A file's: log dirs of new replicas are told before these come, the others move then."""
    before = {it: known.get(it, ()) for it in plan.replicas}
    await chosen_log_dirs.check(cluster, plan.log_dirs)
    if not dry_run:
        await chosen_log_dirs.remember(cluster, plan.log_dirs, before)
    rows, failed = await _move(cluster, plan.replicas, before, wait=wait, dry_run=dry_run)
    more, more_failed = await chosen_log_dirs.move(
        cluster, plan.log_dirs, dry_run=dry_run, wait=wait
    )
    return rows + more, failed or more_failed


async def _move(
    cluster: Cluster,
    targets: Targets,
    before: Mapping[TopicPartition, tuple[int, ...]],
    *,
    wait: bool,
    dry_run: bool,
) -> tuple[Rows, bool]:
    targets = {it: to for it, to in targets.items() if to != before[it]}
    sizes = await sizes_of(cluster, {broker for it in targets for broker in before[it]})
    to_copy = bytes_to_copy(targets, before, sizes)
    outcomes: Outcomes = {}
    state = "planned"
    if targets and not dry_run:
        outcomes = await reassign(cluster, targets)
        refused = [it for it in outcomes.values() if it is not None]
        if len(refused) == len(targets):
            raise refused[0]
        begun = {it: to for it, to in targets.items() if outcomes.get(it) is None}
        state = "begun"
        if wait:
            await wait_for(cluster, begun, before, to_copy)
            state = "done"
    rows: Rows = [
        (str(it), list(before[it]), list(to), Size(to_copy[it]), str(outcomes.get(it) or state))
        for it, to in targets.items()
    ]
    return rows, any(outcomes.values())


@command.command(name="reassignments")
def list_reassignments() -> None:
    """List partitions that are being moved, with what is copied of each."""

    async def ask(cluster: Cluster) -> Rows:
        ongoing = await reassignments(cluster)
        await cluster.refresh([])
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


# Elections


@command.command(name="elect", cls=DestroyingVerb)
@click.argument("topics", nargs=-1, type=TOPIC)
@_numbers
@click.option(
    "--unclean",
    is_flag=True,
    help="Any live replica where there is no leader: what it lacks is lost.",
)
@_dry_run
def elect_(
    *, topics: tuple[str, ...], numbers: tuple[int, ...], unclean: bool, dry_run: bool
) -> None:
    """Elect preferred leaders, or with --unclean any.

    Without TOPICS all partitions are looked at, but those of internal topics.
    """
    kind = Election.UNCLEAN if unclean else Election.PREFERRED

    async def look(cluster: Cluster) -> Found:
        found = await _partitions(cluster, topics, numbers)
        return {it: row for it, row in found.items() if _needs(row, unclean=unclean)}

    needed = talk(look)
    if unclean and needed and not dry_run:
        names = ", ".join(map(str, list(needed)[:5])) + (" ..." if len(needed) > 5 else "")
        confirm(f"records that only dead replicas of {names} have will be lost")

    async def ask(cluster: Cluster) -> Rows:
        outcomes: Outcomes = {}
        if needed and not dry_run:
            outcomes = await elect(cluster, kind, needed)
        elected = [it for it in needed if outcomes.get(it) is None]
        leaders = await _leaders(cluster, needed, elected if outcomes else (), unclean=unclean)
        return [
            (
                str(it),
                row.leader_id if row.leader_id >= 0 else None,
                leaders[it],
                _plan(row) if dry_run else _outcome(outcomes.get(it)),
            )
            for it, row in needed.items()
        ]

    rows = talk(ask)
    nothing = "every partition has a leader" if unclean else "every preferred leader leads already"
    show_table(("partition", "leader_before", "leader", "state"), rows, nothing)
    if any(row[3] not in {"planned", "elected", WAITS} for row in rows):
        sys.exit(FAILED)


def _needs(row: MetadataResponsePartition, *, unclean: bool) -> bool:
    if unclean:
        return row.leader_id < 0
    return bool(row.replica_nodes) and row.leader_id != row.replica_nodes[0]


async def _leaders(
    cluster: Cluster, rows: Found, elected: Iterable[TopicPartition], *, unclean: bool
) -> dict[TopicPartition, int | None]:
    """Who leads then: the preferred leaders that were elected; unclean ones are asked for."""
    found = {it: row.leader_id if row.leader_id >= 0 else None for it, row in rows.items()}
    for it in elected:
        found[it] = rows[it].replica_nodes[0]
        if unclean:
            cluster.forget(it.topic)
            found[it] = await cluster.patiently(partial(cluster.leader_id, it))
    return found


def _plan(row: MetadataResponsePartition) -> str:
    in_sync = row.leader_id < 0 or row.replica_nodes[0] in row.isr_nodes
    return "planned" if in_sync else WAITS


def _outcome(refused: Refused | None) -> str:
    if refused is None or refused.code is ErrorCode.ELECTION_NOT_NEEDED:
        return "elected"
    return str(refused)

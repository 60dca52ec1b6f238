"""`odradek partition`: where replicas lie and who leads them."""

import sys
from collections.abc import Iterable
from functools import partial

import click

from odradek.cli.reaching.naming import TOPIC
from odradek.cli.reaching.talking import talk
from odradek.cli.replicas.moving import Found, Rows, partitions_named
from odradek.cli.replicas.reassign import list_reassignments, reassign_, throttle_
from odradek.cli.replicas.unclean_loss import COLUMNS as LOSS_COLUMNS
from odradek.cli.replicas.unclean_loss import Candidate, candidates
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import show_done, tell_table
from odradek.cli.words.failing import FAILED
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.client.admin.placement import Election, Outcomes, elect
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.metadata import MetadataResponsePartition

WAITS = "waits until it is in sync"

_numbers = click.option(
    "-p", "--partition", "numbers", type=int, multiple=True, help="Only this partition."
)
_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be done.")


@click.group(cls=Noun)
def command() -> None:
    """Partitions: reassign replicas, elect leaders, throttle."""


command.add_command(reassign_)
command.add_command(list_reassignments)
command.add_command(throttle_)


# Elections


@command.command(name="elect", cls=DestroyingVerb)
@click.argument("topics", nargs=-1, type=TOPIC)
@_numbers
@click.option(
    "--unclean",
    is_flag=True,
    help="Any live replica where there is no leader: what it lacks is lost.",
)
@click.option(
    "--force",
    is_flag=True,
    help="With --unclean: although a broker is alive whose replica may have everything.",
)
@_dry_run
def elect_(
    *,
    topics: tuple[str, ...],
    numbers: tuple[int, ...],
    unclean: bool,
    force: bool,
    dry_run: bool,
) -> None:
    """Elect preferred leaders, or with --unclean any.

    Without TOPICS all partitions are looked at, those of internal topics, too.
    """
    kind = Election.UNCLEAN if unclean else Election.PREFERRED

    async def look(cluster: Cluster) -> tuple[Found, list[Candidate]]:
        found = await partitions_named(cluster, topics, numbers)
        needed = {it: row for it, row in found.items() if _needs(row, unclean=unclean)}
        return needed, await candidates(cluster, needed) if unclean else []

    needed, could_lead = talk(look)
    if could_lead:
        tell_table(LOSS_COLUMNS, [it.row for it in could_lead])
    if unclean and needed and not dry_run:
        names = ", ".join(map(str, list(needed)[:5])) + (" ..." if len(needed) > 5 else "")
        confirm(f"elect a leader of {names}, and lose for ever what only other replicas have")

    async def ask(cluster: Cluster) -> Rows:
        outcomes: Outcomes = {}
        if needed and not dry_run:
            outcomes = await elect(cluster, kind, needed, is_forced=force)
        elected = [it for it in needed if outcomes.get(it) is None]
        leaders = await _leaders(cluster, needed, elected if outcomes else (), unclean=unclean)
        return [
            (
                str(it),
                row.leader_id if row.leader_id >= 0 else None,
                leaders[it],
                planned_state(row, unclean=unclean) if dry_run else _outcome(it, outcomes.get(it)),
            )
            for it, row in needed.items()
        ]

    rows = talk(ask)
    nothing = "every partition has a leader" if unclean else "every preferred leader leads already"
    show_done(("partition", "leader_before", "leader", "state"), rows, nothing)
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


def planned_state(row: MetadataResponsePartition, *, unclean: bool) -> str:
    """What an election would come to, as far as it is known before."""
    alive = set(row.replica_nodes) - set(row.offline_replicas)
    if unclean:
        return "planned" if alive else "no replica is alive"
    return "planned" if row.replica_nodes[0] in alive & set(row.isr_nodes) else WAITS


def _outcome(partition: TopicPartition, refused: Refused | None) -> str:
    if refused is None or refused.code is ErrorCode.ELECTION_NOT_NEEDED:
        return "elected"
    return str(refused).removeprefix(f"{partition}: ")  # it stands in the row already

"""`odradek broker demote`: the leaderships off a sick broker, and kept off."""

import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

import click

from odradek.cli.reaching.talking import talk
from odradek.cli.replicas.cordon import cordon
from odradek.cli.replicas.moving import ROUNDS, check_known, partitions_named, placement_of
from odradek.cli.replicas.reassigning import Targets
from odradek.cli.replicas.saved_plan import SavedPlan
from odradek.cli.showing.printing import show
from odradek.cli.words.failing import FAILED
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import pasted
from odradek.client.admin.placement import Election, elect, reassign
from odradek.client.cluster import Cluster
from odradek.model.counting import counted
from odradek.model.ids import TopicPartition

NAMED: Final = 10


class _Look(NamedTuple):
    """One answer of the controller, from which all else is concluded."""

    before: Targets  # assignments in which it is not the last
    after: Targets
    led: list[TopicPartition]
    another_can: list[TopicPartition]  # of those that it leads
    moving: list[TopicPartition]  # in which it is not the last, and which cannot be changed now


@click.command(cls=Verb)
@click.argument("broker", type=Whole(min=0))
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
def demote(*, broker: int, dry_run: bool) -> None:
    """Take the leaderships off a sick broker, and keep them off.

    It stays in the ISR and becomes the last of every assignment, so it leads only where no other
    can, and gets no new replicas (it is cordoned). Nothing is copied. `odradek broker undrain`
    takes it back.
    """

    async def ask(cluster: Cluster) -> tuple[int, _Look, bool]:
        if dry_run:
            look = await _look(cluster, broker)
            return len(look.after), look, False
        return await demoted(cluster, broker)

    count, look, failed = talk(ask, endless=True)
    left = [it for it in look.led if it not in look.moving]
    fields = {
        "broker": broker,
        "reordered": count,
        "leads": [str(it) for it in look.led],
        "moving": [str(it) for it in look.moving],
    }
    verb = "would be" if dry_run else "is"
    text = f"broker {broker} {verb} the last of {counted(count, 'more assignment')}"
    leads = f"; it still leads {counted(len(left), 'partition')}, where no other can"
    show(fields, text + (leads if left and not dry_run else ""))
    if look.moving:
        click.echo(f"odradek: left out, being moved: {_names(look.moving)}", err=True)
        again = f"odradek broker demote {broker}"
        waits = f"once `odradek partition reassignments` lists none of them: {again}"
        click.echo(f"  next: {pasted(waits)}", err=True)
    if failed or (not dry_run and (left or look.moving)):
        sys.exit(FAILED)


def _names(partitions: Sequence[TopicPartition]) -> str:
    """For a line: the first few, and how many there are."""
    more = len(partitions) - NAMED
    text = ", ".join(map(str, partitions[:NAMED]))
    return f"{text} and {more} more" if more > 0 else text


async def _look(cluster: Cluster, broker: int) -> _Look:
    found = await partitions_named(cluster, ())
    placement = await placement_of(cluster, found)
    await check_known(cluster, [broker], placement)
    not_last = {it: them for it, them in placement.wanted.items() if broker in them[:-1]}
    before = {it: them for it, them in not_last.items() if it not in placement.moving}
    after = {it: _last(broker, to, found[it].isr_nodes) for it, to in before.items()}
    led = [it for it, row in found.items() if row.leader_id == broker]
    another_can = [it for it in led if set(found[it].isr_nodes) - {broker}]
    return _Look(before, after, led, another_can, [it for it in not_last if it not in before])


def _last(broker: int, replicas: Sequence[int], isr: Sequence[int]) -> tuple[int, ...]:
    """Those in sync come first: the first of them has to lead at once."""
    others = sorted((it for it in replicas if it != broker), key=lambda it: it not in isr)
    return (*others, broker)


async def demoted(cluster: Cluster, broker: int) -> tuple[int, _Look, bool]:
    """How many assignments were reordered, what is left, and whether one was refused."""
    await _look(cluster, broker)  # refuses before anything is done
    await cordon(cluster, broker)
    look = await _look(cluster, broker)
    plan = await SavedPlan.of(cluster, broker)
    reordered: set[TopicPartition] = set()
    failed = False
    for _ in range(ROUNDS):
        if not (look.after or look.another_can) or failed:
            break
        plan.add(look.before)
        outcomes = await reassign(cluster, look.after) if look.after else {}
        failed = any(outcomes.values())
        reordered |= {it for it in look.after if outcomes.get(it) is None}
        if look.another_can:
            await elect(cluster, Election.PREFERRED, look.another_can)
        look = await _look(cluster, broker)
    return len(reordered), look, failed

"""`odradek broker demote`: the leaderships off a sick broker, and kept off."""

import sys
from collections.abc import Sequence
from typing import NamedTuple

import click

from odradek.cli.cordon import cordon
from odradek.cli.failing import FAILED
from odradek.cli.grammar import Verb
from odradek.cli.moving import ROUNDS, check_known, partitions_named, placement_of
from odradek.cli.printing import counted, show
from odradek.cli.reassigning import Targets
from odradek.cli.saved_plan import SavedPlan
from odradek.cli.talking import talk
from odradek.client.cluster import Cluster
from odradek.client.placement_admin import Election, elect, reassign
from odradek.model.ids import TopicPartition


class _Look(NamedTuple):
    """One answer of the controller, from which all else is concluded."""

    before: Targets  # assignments in which it is not the last
    after: Targets
    led: list[TopicPartition]
    another_can: list[TopicPartition]  # of those that it leads


@click.command(cls=Verb)
@click.argument("broker", type=click.IntRange(min=0))
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
def demote(*, broker: int, dry_run: bool) -> None:
    """Take the leaderships off a sick broker, and keep them off.

    It stays in the ISR and becomes the last of every assignment, so it leads only where no other
    can, and gets no new replicas (it is cordoned). Nothing is copied. `odradek broker undrain`
    takes it back.
    """

    async def ask(cluster: Cluster) -> tuple[int, list[TopicPartition], bool]:
        if dry_run:
            look = await _look(cluster, broker)
            return len(look.after), look.led, False
        return await demoted(cluster, broker)

    count, left, failed = talk(ask, endless=True)
    fields = {"broker": broker, "reordered": count, "leads": [str(it) for it in left]}
    verb = "would be" if dry_run else "is"
    text = f"broker {broker} {verb} the last of {counted(count, 'more assignment')}"
    leads = f"; it still leads {counted(len(left), 'partition')}, where no other can"
    show(fields, text + (leads if left and not dry_run else ""))
    if failed or (left and not dry_run):
        sys.exit(FAILED)


async def _look(cluster: Cluster, broker: int) -> _Look:
    found = await partitions_named(cluster, ())
    placement = await placement_of(cluster, found)
    await check_known(cluster, [broker], placement)
    before = {
        it: replicas
        for it, replicas in placement.wanted.items()
        if broker in replicas[:-1] and it not in placement.moving
    }
    after = {it: _last(broker, to, found[it].isr_nodes) for it, to in before.items()}
    led = [it for it, row in found.items() if row.leader_id == broker]
    another_can = [it for it in led if set(found[it].isr_nodes) - {broker}]
    return _Look(before, after, led, another_can)


def _last(broker: int, replicas: Sequence[int], isr: Sequence[int]) -> tuple[int, ...]:
    """Those in sync come first: the first of them has to lead at once."""
    others = sorted((it for it in replicas if it != broker), key=lambda it: it not in isr)
    return (*others, broker)


async def demoted(cluster: Cluster, broker: int) -> tuple[int, list[TopicPartition], bool]:
    """How many assignments were reordered, what it leads still, and whether one was refused."""
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
    return len(reordered), look.led, failed

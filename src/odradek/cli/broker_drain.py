"""`odradek broker drain` and `undrain`: a broker that goes, or comes back.

All that is done lives in the cluster: the mark in ZooKeeper, the reassignments with the controller.
A verb that was interrupted is called again and goes on. The assignment before it is kept in a file,
from which `undrain` puts replicas and leaders back.
"""

import sys

import click

from odradek.cli.cordon import cordon, cordoned, uncordon
from odradek.cli.failing import FAILED, Failed
from odradek.cli.grammar import Verb
from odradek.cli.moving import (
    COLUMNS,
    ROUNDS,
    How,
    Placement,
    Rows,
    check_known,
    move,
    partitions_named,
    placement_of,
)
from odradek.cli.printing import Size, counted, show_table
from odradek.cli.reassigning import Targets, bytes_to_copy, sizes_of, wait_for
from odradek.cli.saved_plan import SavedPlan
from odradek.cli.talking import talk
from odradek.cli.throttle import RATE
from odradek.client.cluster import Cluster
from odradek.client.placement_admin import Election, elect
from odradek.client.reassignment_plan import Room, TooFewBrokers, drained
from odradek.model.ids import TopicPartition

_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be done.")
_broker = click.argument("broker", type=click.IntRange(min=0))


async def _room(cluster: Cluster, broker: int) -> Room:
    """All that may get replicas."""
    closed = {broker, *await cordoned(cluster, asks_controller=True)}
    answer = await cluster.refresh([])
    return Room({it.node_id: it.rack for it in answer.brokers if it.node_id not in closed})


async def _plan(cluster: Cluster, broker: int) -> tuple[Placement, Targets]:
    placement = await placement_of(cluster, await partitions_named(cluster, ()))
    await check_known(cluster, [broker], placement)
    try:
        return placement, drained(placement.wanted, await _room(cluster, broker), broker)
    except TooFewBrokers as error:
        next_step = "start another broker, or fewer replicas: odradek partition reassign -r"
        raise Failed(str(error), next_step) from None


@click.command(cls=Verb)
@_broker
@click.option("--throttle", "rate", type=RATE, help="Bytes a second, such as 20M, while it lasts.")
@click.option("--no-wait", is_flag=True, help="Return once it has begun.")
@click.option("--status", "is_status", is_flag=True, help="Only say how far it is.")
@_dry_run
def drain(*, broker: int, rate: int | None, no_wait: bool, is_status: bool, dry_run: bool) -> None:
    """Empty a broker, dead or alive, and keep new replicas away.

    It gets no new replicas from now on (it is cordoned), and every replica that it has moves to
    another broker, those of internal topics, too. Interrupted, it goes on in the cluster; called
    again, this verb goes on. `odradek broker undrain` takes it back.
    """
    how = How(wait=not no_wait, dry_run=dry_run, rate=rate)

    async def ask(cluster: Cluster) -> tuple[Rows, bool, int]:
        await _plan(cluster, broker)  # refuses before anything is done
        if not dry_run:
            await cordon(cluster, broker)
        plan = await SavedPlan.of(cluster, broker)
        rows: Rows = []
        failed = False
        for _ in range(ROUNDS):
            placement, targets = await _plan(cluster, broker)
            under_way = _under_way(placement, broker)
            if targets:
                if not dry_run:
                    plan.add({it: placement.wanted[it] for it in targets})
                more, failed = await move(cluster, targets, placement, how)
                rows += more
            elif under_way and how.wait and not dry_run:
                await _wait(cluster, under_way, placement)
            else:
                break
            if dry_run or failed or not how.wait:
                break
        return rows, failed, len(await _left(cluster, broker))

    if is_status:
        _show_status(broker)
        return
    rows, failed, left = talk(ask, endless=True)
    show_table(COLUMNS, rows, f"broker {broker} has no replica")
    if dry_run:
        return
    if left and not no_wait:
        text = f"broker {broker} is cordoned, but still has {counted(left, 'replica')}"
        raise Failed(text, f"see the states above; odradek broker drain {broker} goes on")
    done = f"broker {broker} is cordoned and empty: it can be stopped"
    click.echo(done if not left else f"broker {broker} is being emptied: drain --status", err=True)
    if failed:
        sys.exit(FAILED)


async def _wait(cluster: Cluster, under_way: Targets, placement: Placement) -> None:
    """For what an earlier call has begun."""
    sizes = await sizes_of(cluster, {one for it in under_way for one in placement.whole[it]})
    to_copy = bytes_to_copy(under_way, placement.whole, sizes)
    await wait_for(cluster, under_way, placement.whole, to_copy)


def _under_way(placement: Placement, broker: int) -> dict[TopicPartition, tuple[int, ...]]:
    """Where partitions go that an earlier call moves away."""
    return {it: row.target for it, row in placement.moving.items() if broker in row.removing}


async def _left(cluster: Cluster, broker: int) -> list[TopicPartition]:
    found = await partitions_named(cluster, ())
    return [it for it, row in found.items() if broker in row.replica_nodes]


def _show_status(broker: int) -> None:
    async def ask(cluster: Cluster) -> dict[str, object]:
        found = await partitions_named(cluster, ())
        placement = await placement_of(cluster, found)
        await check_known(cluster, [broker], placement, await cordoned(cluster))
        there = [it for it, row in found.items() if broker in row.replica_nodes]
        sizes = await sizes_of(cluster, {broker})
        return {
            "broker": broker,
            "cordoned": broker in await cordoned(cluster),
            "registered": broker in cluster.brokers,
            "leaders": sum(row.leader_id == broker for row in found.values()),
            "replicas": len(there),
            "leaving": len(_under_way(placement, broker)),
            "bytes": sum(sizes.get((it, broker), 0) for it in there),
        }

    found = talk(ask)
    size = found["bytes"]
    assert isinstance(size, int)
    shown = {**found, "bytes": Size(size)}
    show_table(tuple(shown), [tuple(shown.values())])


@click.command(cls=Verb)
@_broker
@click.option("--throttle", "rate", type=RATE, help="Bytes a second, such as 20M, while it lasts.")
@click.option("--no-wait", is_flag=True, help="Return once it has begun.")
@_dry_run
def undrain(*, broker: int, rate: int | None, no_wait: bool, dry_run: bool) -> None:
    """Let a broker have replicas again, and put back what it had.

    What `drain` or `demote` moved away comes back, if this machine has kept the plan; without one
    `odradek partition reassign` spreads partitions over all brokers.
    """
    how = How(wait=not no_wait, dry_run=dry_run, rate=rate)

    async def ask(cluster: Cluster) -> tuple[Rows, bool]:
        plan = await SavedPlan.of(cluster, broker)
        former = plan.read()
        if former and broker not in cluster.brokers:
            text = f"broker {broker} is not registered: its replicas cannot come back"
            raise Failed(text, f"start it; then again: odradek broker undrain {broker}")
        placement = await placement_of(cluster, await partitions_named(cluster, ()))
        if not former:
            await check_known(cluster, [broker], placement, await cordoned(cluster))
        if not dry_run:
            await uncordon(cluster, broker)
        targets = {it: to for it, to in former.items() if it in placement.wanted}
        rows, failed = await move(cluster, targets, placement, how)
        if targets and not dry_run and not failed and how.wait:
            await elect(cluster, Election.PREFERRED, targets)
            plan.drop()
        return rows, failed

    rows, failed = talk(ask, endless=True)
    show_table(COLUMNS, rows, "no plan is kept here, or nothing has to come back")
    if not dry_run:
        click.echo(f"broker {broker} gets new replicas again", err=True)
    if failed:
        sys.exit(FAILED)

"""`odradek broker drain` and `undrain`: a broker that goes, or comes back.

All that is done lives in the cluster: the mark in ZooKeeper, the reassignments with the controller.
A verb that was interrupted is called again and goes on. The assignment before it is kept in a file,
from which `undrain` puts replicas and leaders back.
"""

import sys
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from typing import Final, NamedTuple

import click

from odradek.cli.brokers.cluster_health import why_leaderless
from odradek.cli.reaching.talking import talk
from odradek.cli.replicas import throttle
from odradek.cli.replicas.cordon import cordon, cordoned, uncordon
from odradek.cli.replicas.moving import (
    COLUMNS,
    ROUNDS,
    Found,
    How,
    Placement,
    Rows,
    check_known,
    move,
    partitions_named,
    placement_of,
)
from odradek.cli.replicas.reassigning import Targets, sizes_of, waits_for
from odradek.cli.replicas.saved_plan import SavedPlan
from odradek.cli.replicas.throttle import RATE
from odradek.cli.showing.cells import Size
from odradek.cli.showing.printing import show_done, show_table
from odradek.cli.words.failing import FAILED, Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import pasted
from odradek.client.admin.placement import Election, elect
from odradek.client.admin.reassignment_plan import Room, TooFewBrokers, drained
from odradek.client.cluster import Cluster
from odradek.model.counting import counted
from odradek.model.ids import TopicPartition

NOTHING_IS_BACK: Final = "nothing to do: no replica has to come back"
NO_PLAN: Final = (
    "this machine keeps no plan of what it had: "
    "odradek partition reassign --brokers IDS moves replicas there"
)
NAMED_MAX: Final = 5
"""Replicas that are left are named up to here, and then counted."""

_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would be done.")
_broker = click.argument("broker", type=Whole(min=0))


async def _room(cluster: Cluster, closed: Container[int]) -> Room:
    """All that may get replicas."""
    answer = await cluster.refresh([])
    return Room({it.node_id: it.rack for it in answer.brokers if it.node_id not in closed})


class _Plan(NamedTuple):
    """What is to be done for one broker, by one look."""

    placement: Placement
    going: Targets  # where its replicas go: those that an earlier call has sent, and the others
    stuck: Mapping[TopicPartition, str]  # why these cannot be copied now


async def _plan(cluster: Cluster, broker: int) -> _Plan:
    found = await partitions_named(cluster, ())
    placement = await placement_of(cluster, found)
    closed = await cordoned(cluster, asks_controller=True)
    await check_known(cluster, [broker], placement, closed)  # a dead one that is empty is done
    try:
        room = await _room(cluster, {broker, *closed})
        lost = {it: placement.whole[it] for it in _lost(placement, broker, room, cluster.brokers)}
        targets = drained({**placement.wanted, **lost}, room, broker)
    except TooFewBrokers as error:
        next_step = "start another broker"
        if error.brokers:
            fewer = f"odradek partition reassign {error.partition.topic} -r {error.brokers}"
            next_step += f", or fewer replicas: {fewer}"
        raise Failed(str(error), next_step) from None
    targets = _under_way(placement, broker) | targets
    leaderless = [it for it in targets if found[it].leader_id < 0]
    stuck = await why_leaderless(cluster, leaderless) if leaderless else {}
    return _Plan(placement, {it: to for it, to in targets.items() if it not in stuck}, stuck)


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
    if is_status:
        _show_status(broker)
        return
    how = How(wait=not no_wait, dry_run=dry_run, rate=rate, goes_on=True)
    rows, left = talk(lambda cluster: _drain(cluster, broker, how), endless=True)
    show_table(COLUMNS, rows, f"broker {broker} has no replica")
    if dry_run:
        return
    if left.number and (how.wait or left.cannot_move):
        text = f"broker {broker} is cordoned, but still has {counted(left.number, 'replica')}"
        raise Failed(f"{text}: {left.text}", left.next_step(broker))
    done = f"broker {broker} is cordoned and empty: it can be stopped"
    ask = pasted(f"odradek broker drain {broker} --status")
    being = f"broker {broker} is being emptied; how far it is: {ask}"
    click.echo(being if left.number else done, err=True)


async def _drain(cluster: Cluster, broker: int, how: How) -> tuple[Rows, "_Left"]:
    """All that can move moves, in several rounds; what cannot is named in the end."""
    plan = await _plan(cluster, broker)  # refuses before anything is done
    if not how.dry_run:
        plan = await _cordoned_plan(cluster, broker)
    saved = await SavedPlan.of(cluster, broker)
    rows: dict[object, tuple[object, ...]] = {}
    for _ in range(ROUNDS):
        rows |= _rows_of_stuck(plan, broker)
        if not plan.going:
            break
        if not how.dry_run:
            wanted = plan.placement.wanted
            saved.add({it: wanted[it] for it in plan.going if broker in wanted[it]})
        more, _ = await move(cluster, plan.going, plan.placement, how)
        rows |= {row[0]: row for row in more}
        if how.dry_run or not how.wait:
            break
        former = plan
        with suppress(Failed):  # another broker was cordoned meanwhile: what is left is told below
            plan = await _plan(cluster, broker)
        if plan.going == former.going:  # it waits for what does not come back soon
            break
    if not how.dry_run and (how.wait or not plan.going):
        await throttle.end_left(cluster)
    return list(rows.values()), await _left(cluster, broker, plan, rows)


async def _cordoned_plan(cluster: Cluster, broker: int) -> _Plan:
    """Somebody may have cordoned another meanwhile: if it is refused now, no mark is left."""
    had_mark = broker in await cordoned(cluster, asks_controller=True)
    await cordon(cluster, broker)
    try:
        return await _plan(cluster, broker)
    except Failed:
        if not had_mark:
            await uncordon_if_unused(cluster, broker)
        raise


async def uncordon_if_unused(cluster: Cluster, broker: int) -> None:
    """Unless another drain of this broker has begun meanwhile: it needs the mark."""
    placement = await placement_of(cluster, await partitions_named(cluster, ()))
    if not _under_way(placement, broker):
        await uncordon(cluster, broker)


def _rows_of_stuck(plan: _Plan, broker: int) -> dict[object, tuple[object, ...]]:
    there = {it: list(plan.placement.whole[it]) for it in plan.stuck}
    return {
        str(it): (str(it), there[it], None, None, f"stays on {broker}: {why}")
        for it, why in plan.stuck.items()
    }


class _Left(NamedTuple):
    """Replicas that the broker still has in the end: which, why, and what helps."""

    states: Mapping[TopicPartition, str]
    stuck: Mapping[TopicPartition, str]
    alone: frozenset[TopicPartition]  # no other broker has a replica, not even an older one
    held: bool  # some are on their way to a broker that has gone

    @property
    def number(self) -> int:
        """Of them all."""
        return len(self.states)

    @property
    def cannot_move(self) -> bool:
        """This is known at once, with --no-wait, too."""
        return bool(self.stuck)

    @property
    def text(self) -> str:
        """Each by its name, the first of many."""
        named = [f"{it}: {why}" for it, why in self.states.items()]
        more = len(named) - NAMED_MAX
        return "; ".join(named[:NAMED_MAX]) + (f"; and {more} more" if more > 0 else "")

    def next_step(self, broker: int) -> str:
        """Records that only this broker has are lost with it: what gives them up is said last."""
        again = f"odradek broker drain {broker}"
        if not self.stuck and self.held:
            return f"start what is waited for, or another broker to take its place; then {again}"
        if not self.stuck:
            return f"{again} goes on"
        older = sorted({it.topic for it in self.stuck if it not in self.alone})
        lost = [f"odradek partition elect {' '.join(older)} --unclean"] if older else []
        alone = sorted({it.topic for it in self.alone})
        lost += [f"odradek topic delete {' '.join(alone)} (all partitions)"] if alone else []
        back = f"bring back what is named, then {again}"
        return f"{back}; if its disks are lost: {' and '.join(lost)}, then the same"


async def _left(
    cluster: Cluster, broker: int, plan: _Plan, rows: Mapping[object, tuple[object, ...]]
) -> _Left:
    found = await partitions_named(cluster, ())
    there = {it: row for it, row in found.items() if broker in row.replica_nodes}
    stuck, held = await _standing(cluster, plan.placement, there)
    states = {it: stuck.get(it) or held.get(it) or _state(it, plan, rows) for it in there}
    return _Left(states, stuck, _alone(stuck, plan.placement), bool(held))


async def _standing(
    cluster: Cluster, placement: Placement, there: Found
) -> tuple[dict[TopicPartition, str], dict[TopicPartition, str]]:
    """Which of these no broker can copy now, and which go to a broker that has gone; why."""
    leaderless = [it for it, row in there.items() if row.leader_id < 0]
    stuck = {**(await why_leaderless(cluster, leaderless) if leaderless else {})}
    moving = {it: row.target for it, row in placement.moving.items()}
    held = {it: waits_for([it], moving, cluster.brokers) for it in there if it in moving}
    return stuck, {it: why for it, why in held.items() if why}


def _alone(stuck: Iterable[TopicPartition], placement: Placement) -> frozenset[TopicPartition]:
    return frozenset(it for it in stuck if len(placement.whole.get(it, ())) == 1)


def _state(it: TopicPartition, plan: _Plan, rows: Mapping[object, tuple[object, ...]]) -> str:
    row = rows.get(str(it))
    if row is None:
        return "it has come meanwhile"
    return "it is being moved" if it in plan.placement.moving else str(row[-1])


def _under_way(placement: Placement, broker: int) -> dict[TopicPartition, tuple[int, ...]]:
    """Where partitions go that an earlier call moves away."""
    return {it: row.target for it, row in placement.moving.items() if broker in row.removing}


def _lost(
    placement: Placement, broker: int, room: Room, registered: Container[int]
) -> list[TopicPartition]:
    """What an earlier call moves to a broker that has gone, where another can take it."""
    return [
        it
        for it in _under_way(placement, broker)
        if any(added not in registered for added in placement.moving[it].adding)
        and set(room.racks) - set(placement.whole[it])
    ]


def _show_status(broker: int) -> None:
    async def ask(cluster: Cluster) -> tuple[dict[str, object], _Left]:
        found = await partitions_named(cluster, ())
        placement = await placement_of(cluster, found)
        await check_known(cluster, [broker], placement, await cordoned(cluster))
        there = {it: row for it, row in found.items() if broker in row.replica_nodes}
        sizes = await sizes_of(cluster, {broker})
        stuck, held = await _standing(cluster, placement, there)
        standing = _Left({**held, **stuck}, stuck, _alone(stuck, placement), bool(held))
        return {
            "broker": broker,
            "cordoned": broker in await cordoned(cluster),
            "registered": broker in cluster.brokers,
            "leaders": sum(row.leader_id == broker for row in found.values()),
            "replicas": len(there),
            "leaving": len(_under_way(placement, broker)),
            "standing": standing.number,
            "bytes": sum(sizes.get((it, broker), 0) for it in there),
        }, standing

    found, standing = talk(ask)
    size = found["bytes"]
    assert isinstance(size, int)
    shown = {**found, "bytes": Size(size)}
    show_table(tuple(shown), [tuple(shown.values())])
    if standing.number:
        click.echo(pasted(f"{standing.text}\n{standing.next_step(broker)}"), err=True)


class _Restored(NamedTuple):
    """What comes back; the rest was decided otherwise since."""

    targets: Targets
    other_factor: list[str]  # it stays for good
    waits: list[str]  # for brokers that are cordoned, too


def _restored(former: Targets, wanted: Targets, closed: Container[int]) -> _Restored:
    found = _Restored({}, [], [])
    targets: dict[TopicPartition, tuple[int, ...]] = {}
    for partition, to in former.items():
        new = [it for it in to if it in closed and it not in wanted[partition]]
        if len(to) != len(wanted[partition]):
            had = f"{partition} had {counted(len(to), 'replica')}"
            now = f"and is to have {len(wanted[partition])} now"
            found.other_factor.append(f"{had}, {now}: it stays where it is")
        elif new:
            text = f"{partition} had a replica on broker {new[0]}, which is cordoned"
            found.waits.append(f"{text}: odradek broker undrain {new[0]}, and then this again")
        else:
            targets[partition] = to
    return found._replace(targets=targets)


def _tell_of_moves(moves: Iterable[TopicPartition], broker: int) -> None:
    """Of a drain from another machine: without its plan nothing ends them."""
    going = sorted(moves)
    if not going:
        return
    topics = " ".join(dict.fromkeys(it.topic for it in going))
    text = f"{counted(len(going), 'replica')} of broker {broker} still being moved away"
    call = f"odradek partition reassign {topics} --cancel keeps them there"
    click.echo(pasted(f"{text}: {call}; odradek partition reassignments shows how far"), err=True)


@click.command(cls=Verb)
@_broker
@click.option("--throttle", "rate", type=RATE, help="Bytes a second, such as 20M, while it lasts.")
@click.option("--no-wait", is_flag=True, help="Return once it has begun.")
@_dry_run
def undrain(*, broker: int, rate: int | None, no_wait: bool, dry_run: bool) -> None:
    """Let a broker have replicas again, and put back what it had.

    What `drain` or `demote` moved away comes back, if this machine has kept the plan; without one
    `odradek partition reassign` spreads partitions over all brokers. Interrupted, or with
    --no-wait, it is called again: it goes on, and brings leaders back in the end.
    """
    how = How(wait=not no_wait, dry_run=dry_run, rate=rate, goes_on=True)

    async def ask(cluster: Cluster) -> tuple[Rows, bool, bool, str]:
        plan = await SavedPlan.of(cluster, broker)
        former = plan.read()
        if former and broker not in cluster.brokers:
            text = f"broker {broker} is not registered: its replicas cannot come back"
            raise Failed(text, f"start it; then again: odradek broker undrain {broker}")
        placement = await placement_of(cluster, await partitions_named(cluster, ()))
        marked = await cordoned(cluster)
        if not former:
            await check_known(cluster, [broker], placement, marked)
        if not dry_run:
            await uncordon(cluster, broker)
        closed = {*await cordoned(cluster, asks_controller=True)} - {broker}
        there = {it: to for it, to in former.items() if it in placement.wanted}
        restored = _restored(there, placement.wanted, closed)
        for text in (*restored.other_factor, *restored.waits):
            click.echo(f"odradek: {pasted(text)}", err=True)
        rows, failed = await move(cluster, restored.targets, placement, how)
        is_over = how.wait or not rows  # otherwise the plan is needed once more, for leaders
        if former and not dry_run and not failed and is_over and not restored.waits:
            if restored.targets:
                await elect(cluster, Election.PREFERRED, restored.targets)
            plan.drop()
        if is_over and not dry_run:
            await throttle.end_left(cluster)
        if not former:
            _tell_of_moves(_under_way(placement, broker), broker)
        return rows, failed, broker in marked, NOTHING_IS_BACK if former else NO_PLAN

    rows, failed, was_marked, nothing = talk(ask, endless=True)
    show_done(COLUMNS, rows, nothing)
    if not dry_run:
        told = "gets new replicas again" if was_marked else "was not cordoned"
        click.echo(f"broker {broker} {told}", err=True)
    if failed:
        sys.exit(FAILED)

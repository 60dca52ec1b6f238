"""Reassignments as verbs carry them out: begun, waited for, cancelled.

A partition that is being moved counts as lying where it is wanted: plans are made from there, and
replicas that are being added are not taken for part of the replication factor.
"""

import asyncio
from collections.abc import AsyncIterator, Container, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Final, NamedTuple

import click

from odradek.cli.reaching.naming import topics_of
from odradek.cli.replicas import throttle
from odradek.cli.replicas.former_assignment import former_of, keep, path_of
from odradek.cli.replicas.reassigning import (
    POLL_SECONDS,
    Targets,
    bytes_to_copy,
    sizes_of,
    wait_for,
)
from odradek.cli.showing.cells import Size
from odradek.cli.words.failing import Failed
from odradek.cli.words.options import pasted
from odradek.client.admin.placement import Ongoing, Outcomes, reassign, reassignments
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.model.counting import counted
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.wire.messages.metadata import MetadataResponsePartition

COLUMNS = ("partition", "from", "to", "bytes", "state")
LOOKS: Final = 10
ROUNDS: Final = 5
"""Topics that were being made when a broker was cordoned may come behind the first plan."""
GOES_ON: Final = "what was begun goes on; how far it is: odradek partition reassignments"
Rows = list[tuple[object, ...]]
Found = dict[TopicPartition, MetadataResponsePartition]


class Placement(NamedTuple):
    """Where partitions lie: where their replicas are wanted, and where they are whole."""

    wanted: Mapping[TopicPartition, tuple[int, ...]]
    whole: Mapping[TopicPartition, tuple[int, ...]]
    moving: Mapping[TopicPartition, Ongoing]


class How(NamedTuple):
    """How it is carried out."""

    wait: bool = True
    dry_run: bool = False
    rate: int | None = None  # bytes in a second, while it lasts
    goes_on: bool = False  # with what an earlier call has begun, and without what cannot move


async def partitions_named(
    cluster: Cluster, names: tuple[str, ...], numbers: Iterable[int] = ()
) -> Found:
    """Of topics by name or pattern, without any of all; only those with a number, if any has.

    As the controller has them, which carries out what is decided by them.
    """
    wanted = set(numbers)
    found = {
        TopicPartition(topic.name or "", row.partition_index): row
        for topic in topics_of(await cluster.decided(), names, internal=True)
        for row in sorted(topic.partitions, key=lambda it: it.partition_index)
        if not wanted or row.partition_index in wanted
    }
    if lacking := wanted - {it.partition for it in found}:
        who = f"topic {names[0]!r} has no" if len(names) == 1 else "no topic has a"
        raise Failed(f"{who} partition {min(lacking)}", "odradek topic describe")
    return found


async def placement_of(cluster: Cluster, found: Found) -> Placement:
    """As the brokers and the controller say."""
    moving = {it: row for it, row in (await reassignments(cluster)).items() if it in found}
    there = {it: tuple(row.replica_nodes) for it, row in found.items()}
    wanted = there | {it: row.target for it, row in moving.items()}
    whole = there | {it: row.origin for it, row in moving.items()}
    return Placement(wanted, whole, moving)


async def check_known(
    cluster: Cluster, numbers: Iterable[int], placement: Placement, also: Iterable[int] = ()
) -> None:
    """Refuses a number that is neither registered nor has a replica: it was mistyped."""
    await cluster.refresh([])
    there = {*cluster.brokers, *also}
    for replicas in (*placement.whole.values(), *placement.wanted.values()):
        there.update(replicas)
    for number in numbers:
        if number not in there:
            known = ", ".join(map(str, sorted(there)))
            text = f"there is no broker {number}, and it has no replica; brokers are {known}"
            raise Failed(text, "odradek broker list")


async def move(
    cluster: Cluster, targets: Targets, placement: Placement, how: How
) -> tuple[Rows, bool]:
    """A row for each partition that is not wanted there yet, and whether one was refused.

    Who goes on waits for those, too, that an earlier call has sent there.
    """
    before = placement.wanted
    new = {it: to for it, to in targets.items() if to != before.get(it, ())}
    joined = {it: to for it, to in targets.items() if it not in new and it in placement.moving}
    if joined and not how.goes_on:
        _tell_of_same(joined, how)
    targets = {**joined, **new} if how.goes_on else new
    whole = {it: placement.whole.get(it, ()) for it in targets}
    answer = await cluster.refresh([])
    sizes = await sizes_of(cluster, {broker for it in targets for broker in whole[it]})
    to_copy = bytes_to_copy(targets, whole, sizes)
    outcomes: Outcomes = {}
    states: dict[TopicPartition, str] = {}
    state = "planned"
    if targets and not how.dry_run:
        _tell_of_others(new, placement, joined=len(targets) - len(new))
        moving = await reassignments(cluster)
        former = {it: before[it] for it in new if before.get(it)}
        kept = keep(answer.cluster_id or "", former, moving)
        state = "begun"
        async with bounded(cluster, whole, targets, how) as bound:
            bound.is_left = len(targets) > len(new)
            bound.goes_on = True  # also where the answer is lost
            outcomes = await reassign(cluster, new) if new else {}
            begun = {it: to for it, to in targets.items() if outcomes.get(it) is None}
            bound.goes_on = bool(begun)
            if begun:
                await bound.renew()
            refused = [it for it in outcomes.values() if it is not None]
            if refused and not begun and not how.goes_on:
                raise refused[0]
            if new:
                _tell_of_file(answer.cluster_id or "", kept)
            if how.wait:
                try:
                    stuck = await wait_for(cluster, begun, whole, to_copy, gives_up=how.goes_on)
                except asyncio.CancelledError:
                    click.echo(f"\n{pasted(GOES_ON)}", err=True)
                    raise
                bound.goes_on, bound.waiting = bool(stuck), stuck
                over = {it: to for it, to in begun.items() if it not in stuck}
                state, states = "done", await _elsewhere(cluster, over)
                states |= stuck
    rows: Rows = [
        (
            str(it),
            list(placement.whole.get(it, ()) if it in joined else before.get(it, ())),
            list(to),
            Size(to_copy[it]),
            str(outcomes.get(it) or states.get(it) or state),
        )
        for it, to in targets.items()
    ]
    return rows, any(outcomes.values()) or bool(states)


@asynccontextmanager
async def bounded(
    cluster: Cluster, whole: Targets, targets: Targets, how: How
) -> AsyncIterator[throttle.Bound]:
    """A throttle lasts as long as its moves; one that was left behind is named before.

    Who goes on with moves takes away at their end what an earlier call has left of it; and who
    waits for them, what `partition throttle` has set meanwhile.
    """
    bound = throttle.Bound()
    was_left = False
    if how.rate is None:
        was_left = await _tell_of_throttle(cluster, goes_on=how.goes_on)
    else:
        await throttle.tell_of_other_rate(cluster, throttle.involved(whole, targets), how.rate)
        await throttle.limit(cluster, whole, targets, how.rate)
        bound.renew = partial(throttle.renew, cluster, whole, targets, how.rate)
    try:
        yield bound
    except BaseException:
        if how.rate is not None and bound.goes_on:  # in the cluster, and not without bounds
            stays = f"\nthe throttle stays with the move; afterwards: {throttle.LIFT}"
            click.echo(pasted(stays), err=True)
        elif how.rate is not None:
            await throttle.lift(cluster, targets)
        raise
    is_ours = how.rate is not None or bound.is_left
    if how.wait and not is_ours and not was_left:
        is_ours = bool((await throttle.rates(cluster)).moves)  # somebody has bounded these
    if how.wait and is_ours:
        await throttle.lift(cluster, targets.keys() - {*bound.waiting})
    if how.rate is not None and (bound.goes_on or not how.wait):
        stays = f"the throttle stays; once the move is over: {throttle.LIFT}"
        click.echo(pasted(stays), err=True)


async def _tell_of_throttle(cluster: Cluster, *, goes_on: bool) -> bool:
    """Whether there is one, and stays behind the moves."""
    left = (await throttle.rates(cluster)).moves
    if not left:
        return False
    text = throttle.told(left)
    if goes_on and await reassignments(cluster):
        click.echo(f"odradek: {text}, until the moves are over", err=True)
        return False
    if throttle.is_unwanted(text):
        await throttle.lift_all(cluster)
        return False
    return True


async def _elsewhere(cluster: Cluster, targets: Targets) -> dict[TopicPartition, str]:
    """Where replicas of these are instead: somebody has cancelled or replaced the move."""
    found: dict[TopicPartition, str] = {}
    for _ in range(LOOKS):  # the controller tells its own broker as it tells others
        answer = await cluster.decided()
        there = {
            TopicPartition(topic.name or "", row.partition_index): tuple(row.replica_nodes)
            for topic in answer.topics
            for row in topic.partitions
        }
        found = {
            it: f"not done: its replicas are {list(there[it])}" if it in there else "deleted"
            for it, to in targets.items()
            if set(there.get(it, ())) != set(to)
        }
        if not found:
            return {}
        await asyncio.sleep(POLL_SECONDS)
    return found


def _tell_of_others(targets: Targets, placement: Placement, *, joined: int) -> None:
    """Somebody else may have begun them."""
    if joined:
        what = counted(joined, "partition")
        click.echo(f"odradek: an earlier call moves {what} already: it goes on", err=True)
    others = [it for it in targets if it in placement.moving]
    if others:
        what = counted(len(others), "partition")
        text = f"{what} of these, {others[0]} for instance, are being moved already"
        click.echo(f"odradek: {text}: their target is replaced", err=True)


def _tell_of_same(joined: Targets, how: How) -> None:
    """An earlier call, or somebody else, has begun the same: this one does not wait for it."""
    which = next(iter(joined)) if len(joined) == 1 else f"{len(joined)} of these partitions"
    be = "is" if len(joined) == 1 else "are"
    click.echo(f"odradek: {which} {be} already under way, begun by an earlier call", err=True)
    next_step = "odradek partition reassignments says how far"
    if how.rate is not None:
        next_step += f"; within your throttle: odradek partition throttle {how.rate}"
    click.echo(f"  next: {pasted(next_step)}", err=True)


def _tell_of_file(cluster_id: str, kept: Path | None) -> None:
    """Where the assignment before stands, or that it does not."""
    if kept is None:
        text = "the former assignment cannot be kept there: --cancel restores replicas, not order"
        click.echo(f"odradek: {path_of(cluster_id)}: {text}", err=True)
    else:
        click.echo(f"the former assignment is kept in {kept}; --cancel restores it", err=True)


async def cancel(cluster: Cluster, placement: Placement, *, dry_run: bool) -> tuple[Rows, bool]:
    """Puts the replicas back, and their order where this command has begun the move.

    The throttle of these goes with them: the verb that has set it may not live any more.
    """
    answer = await cluster.refresh([])
    cluster_id = answer.cluster_id or ""
    former = former_of(cluster_id)
    back = {
        it: former[it] if set(former.get(it, ())) == set(row.origin) else row.origin
        for it, row in placement.moving.items()
    }
    outcomes: Outcomes = {}
    overtaken: set[TopicPartition] = set()  # done between the look and the cancel
    if back and not dry_run:
        outcomes = await reassign(cluster, dict.fromkeys(back))
        overtaken = {it for it, why in outcomes.items() if why is not None and _is_over(why)}
        outcomes |= dict.fromkeys(overtaken)
        ended = {it: to for it, to in back.items() if not (outcomes.get(it) or it in overtaken)}
        orders = {it: to for it, to in ended.items() if to != placement.moving[it].origin}
        if orders:
            outcomes |= await reassign(cluster, orders)
        await throttle.lift(cluster, [it for it in back if not outcomes.get(it)])
    rows: Rows = [
        (
            str(it),
            list(placement.moving[it].target),
            list(to),
            None,
            "planned" if dry_run else str(outcomes.get(it) or _ended(it, overtaken)),
        )
        for it, to in back.items()
    ]
    over = [
        it
        for it, to in former.items()
        if (it not in back or it in overtaken) and placement.wanted.get(it, to) != to
    ]
    if over and back:
        call = f"odradek partition reassign --file {path_of(cluster_id)}"
        what = counted(len(over), "partition")
        click.echo(f"{what} had been moved before the cancel; back: {pasted(call)}", err=True)
    return rows, any(outcomes.values())


def _is_over(why: Refused) -> bool:
    return why.code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def _ended(it: TopicPartition, overtaken: Container[TopicPartition]) -> str:
    return "was done before the cancel" if it in overtaken else "cancelled"

"""Who shall lead a partition: four ways to elect, each a choice from what is known.

The order of preference is that of the assignment, never that of the ISR. Each election begins a
new leader epoch. Where there is no candidate nothing is decided, and the partition stays as it is.

Members that leave the ISR while it is smaller than min.insync.replicas stay eligible: the high
watermark does not rise before the ISR has that size again, so nothing is committed without them
(KIP-966). They may lead where no member of the ISR can. Once the ISR is large enough there are
none.
"""

from collections.abc import Container, Sequence
from typing import NamedTuple

from odradek.metadata.nouns import Assignment, PartitionState
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch, LeaderEpoch, PartitionEpoch

Brokers = Container[BrokerId]


class Choice(NamedTuple):
    """A leader, and the ISR that it begins with."""

    leader: BrokerId
    isr: tuple[BrokerId, ...]
    eligible: tuple[BrokerId, ...] = ()
    unclean: bool = False  # from outside the ISR: what only others had is lost


def first_leader(assignment: Assignment, live: Brokers) -> Choice | None:
    """Of a new partition: all its live replicas are in sync, because there is nothing to have."""
    alive = _those(assignment.replicas, live)
    return Choice(alive[0], alive) if alive else None


def members(state: PartitionState, min_isr: int) -> tuple[BrokerId, ...]:
    """All that have everything which was committed: the ISR, and those who are eligible."""
    if len(state.isr) >= min_isr:
        return state.isr
    return tuple(dict.fromkeys((*state.isr, *state.eligible)))


def named(
    assignment: Assignment, state: PartitionState
) -> tuple[PartitionState, frozenset[BrokerId]]:
    """The state with those members alone that the assignment names, and the others.

    Where none is named the state stays: they are all that there is.
    """
    isr = _those(state.isr, assignment.replicas)
    if not isr or len(isr) == len(state.isr):
        return state, frozenset()
    eligible_now = _those(state.eligible, assignment.replicas)
    return state._replace(isr=isr, eligible=eligible_now), frozenset(state.isr) - frozenset(isr)


def after_a_failure(
    assignment: Assignment, state: PartitionState, live: Brokers, *, min_isr: int
) -> Choice | None:
    """The first live member of the ISR, else the first live one of those who are eligible."""
    in_sync = _those(state.isr, live)
    for replica in assignment.replicas:
        if replica in in_sync:
            return Choice(replica, in_sync, eligible(state, in_sync, min_isr))
    others = _those(members(state, min_isr), live)
    for replica in assignment.replicas:
        if replica in others:
            return Choice(replica, (replica,), eligible(state, (replica,), min_isr))
    return None


def unproven(choice: Choice, state: PartitionState, unclean: Brokers) -> Choice:
    """A leader that may yet turn out to lack records: no other is given up for it before."""
    if choice.leader not in state.isr or set(state.isr) <= {*choice.isr, *choice.eligible}:
        return choice
    isr = tuple(it for it in state.isr if it not in unclean)
    return choice._replace(isr=isr, eligible=state.eligible)


def uncleanly(assignment: Assignment, live: Brokers) -> Choice | None:
    """Any live replica: records that only others have are lost."""
    alive = _those(assignment.replicas, live)
    return Choice(alive[0], alive[:1], unclean=True) if alive else None


def preferred(assignment: Assignment, state: PartitionState, live: Brokers) -> Choice | None:
    """The first replica of the assignment, if it could lead at once."""
    first = assignment.replicas[0]
    if first in live and first in state.isr:
        return Choice(first, state.isr, state.eligible)
    return None


def before_a_shutdown(
    assignment: Assignment, state: PartitionState, live: Brokers, going: Brokers, *, min_isr: int
) -> Choice | None:
    """Another live member of the ISR than those that are going, who leave it, too."""
    staying = tuple(replica for replica in state.isr if replica not in going)
    for replica in assignment.replicas:
        if replica in staying and replica in live:
            return Choice(replica, staying, eligible(state, staying, min_isr))
    return None


def for_a_reassignment(
    assignment: Assignment, state: PartitionState, live: Brokers
) -> Choice | None:
    """The first of the target's replicas that could lead at once."""
    for replica in assignment.target:
        if replica in live and replica in state.isr:
            return Choice(replica, state.isr, state.eligible)
    return None


def new_state(choice: Choice, controller_epoch: ControllerEpoch) -> PartitionState:
    """The first state of a partition."""
    return PartitionState(
        choice.leader, LeaderEpoch(0), choice.isr, PartitionEpoch(0), controller_epoch
    )


def next_state(
    state: PartitionState, choice: Choice, controller_epoch: ControllerEpoch
) -> PartitionState:
    """The state after an election, as it will be once its znode was written."""
    return PartitionState(
        leader=choice.leader,
        leader_epoch=LeaderEpoch(state.leader_epoch + 1),
        isr=choice.isr,
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
        controller_epoch=controller_epoch,
        recovering=choice.unclean or state.recovering,
        eligible=choice.eligible,
    )


def same_leader(state: PartitionState, controller_epoch: ControllerEpoch) -> PartitionState:
    """A new leader epoch of the same leader, with the same ISR: its replicas have changed."""
    return state._replace(
        leader_epoch=LeaderEpoch(state.leader_epoch + 1),
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
        controller_epoch=controller_epoch,
    )


def without(
    state: PartitionState, gone: Brokers, controller_epoch: ControllerEpoch, *, min_isr: int = 1
) -> PartitionState | None:
    """The state once these replicas are gone; None where it stays as it is.

    Where no member is left the ISR stays whole: each of them has everything that was committed,
    and whichever returns first may lead.
    """
    isr = tuple(replica for replica in state.isr if replica not in gone) or state.isr
    return _changed(state, gone, (isr, eligible(state, isr, min_isr)), controller_epoch)


def leaving(state: PartitionState, removed: Brokers, min_isr: int) -> PartitionState:
    """The same state without replicas that no assignment names any more; not in another epoch."""
    isr = tuple(replica for replica in state.isr if replica not in removed)
    assert isr, f"nobody stays of {state}"
    waiting = (it for it in eligible(state, isr, min_isr) if it not in removed)
    return state._replace(isr=isr, eligible=tuple(waiting))


def without_unclean(
    state: PartitionState, unclean: Brokers, controller_epoch: ControllerEpoch, *, min_isr: int
) -> PartitionState | None:
    """The state once these members were found to lack records; None where no other member has them.

    Unlike those that are only gone they are not eligible. The others who have everything take
    their place, dead or alive: the partition waits for them.
    """
    whole = tuple(it for it in members(state, min_isr) if it not in unclean)
    if not whole:
        return None
    isr = tuple(it for it in state.isr if it not in unclean) or whole
    waiting = tuple(it for it in whole if it not in isr)
    return _changed(state, unclean, (isr, waiting), controller_epoch)


def eligible(
    state: PartitionState, isr: tuple[BrokerId, ...], min_isr: int
) -> tuple[BrokerId, ...]:
    """Who is eligible once this is the ISR."""
    if len(isr) >= min_isr:
        return ()
    return tuple(it for it in members(state, min_isr) if it not in isr)


def _changed(
    state: PartitionState,
    gone: Brokers,
    members_now: tuple[tuple[BrokerId, ...], tuple[BrokerId, ...]],
    controller_epoch: ControllerEpoch,
) -> PartitionState | None:
    isr, waiting = members_now
    leader = None if state.leader is not None and state.leader in gone else state.leader
    if (isr, leader, waiting) == (state.isr, state.leader, state.eligible):
        return None
    return same_leader(state, controller_epoch)._replace(leader=leader, isr=isr, eligible=waiting)


def _those(replicas: Sequence[BrokerId], live: Brokers) -> tuple[BrokerId, ...]:
    return tuple(replica for replica in replicas if replica in live)

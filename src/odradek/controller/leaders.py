"""Who shall lead a partition: four ways to elect, each a choice from what is known.

The order of preference is that of the assignment, never that of the ISR. Each election begins a
new leader epoch. Where there is no candidate nothing is decided, and the partition stays as it is.
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
    unclean: bool = False  # from outside the ISR: what only others had is lost


def first_leader(assignment: Assignment, live: Brokers) -> Choice | None:
    """Of a new partition: all its live replicas are in sync, because there is nothing to have."""
    alive = _those(assignment.replicas, live)
    return Choice(alive[0], alive) if alive else None


def after_a_failure(
    assignment: Assignment, state: PartitionState, live: Brokers, *, unclean: bool
) -> Choice | None:
    """The first live member of the ISR; if losing records is allowed, else any live replica."""
    in_sync = _those(state.isr, live)
    for replica in assignment.replicas:
        if replica in in_sync:
            return Choice(replica, in_sync)
    alive = _those(assignment.replicas, live)
    if unclean and alive:
        return Choice(alive[0], alive[:1], unclean=True)
    return None


def preferred(assignment: Assignment, state: PartitionState, live: Brokers) -> Choice | None:
    """The first replica of the assignment, if it could lead at once."""
    first = assignment.replicas[0]
    return Choice(first, state.isr) if first in live and first in state.isr else None


def before_a_shutdown(
    assignment: Assignment, state: PartitionState, live: Brokers, going: Brokers
) -> Choice | None:
    """Another live member of the ISR than those that are going, who leave it, too."""
    staying = tuple(replica for replica in state.isr if replica not in going)
    for replica in assignment.replicas:
        if replica in staying and replica in live:
            return Choice(replica, staying)
    return None


def for_a_reassignment(
    assignment: Assignment, state: PartitionState, live: Brokers
) -> Choice | None:
    """The first of the target's replicas that could lead at once."""
    for replica in assignment.target:
        if replica in live and replica in state.isr:
            return Choice(replica, state.isr)
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
    )


def without(
    state: PartitionState, gone: Brokers, controller_epoch: ControllerEpoch
) -> PartitionState | None:
    """The state once these replicas are gone; None where it stays as it is.

    Where no member is left the ISR stays whole: each of them has everything that was committed,
    and whichever returns first may lead.
    """
    isr = tuple(replica for replica in state.isr if replica not in gone) or state.isr
    leader = None if state.leader is not None and state.leader in gone else state.leader
    if isr == state.isr and leader == state.leader:
        return None
    return state._replace(
        leader=leader,
        leader_epoch=LeaderEpoch(state.leader_epoch + 1),
        isr=isr,
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
        controller_epoch=controller_epoch,
    )


def _those(replicas: Sequence[BrokerId], live: Brokers) -> tuple[BrokerId, ...]:
    return tuple(replica for replica in replicas if replica in live)

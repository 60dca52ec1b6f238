"""Who shall lead a partition: four ways to elect, each a choice from what is known.

The order of preference is that of the assignment, never that of the ISR. Each election begins a
new leader epoch. Where there is no candidate nothing is decided, and the partition stays as it is.

Members that leave the ISR while it is smaller than min.insync.replicas stay eligible: the leader
commits nothing before the ISR has that size again, so they have everything (KIP-966), and may lead
where no member of the ISR can. The number goes with the state, and binds its leader until the next
one: what the setting says today, here or there, changes neither. Once the ISR is large enough, or
where the next state has a smaller number, there are none.
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


class Terms(NamedTuple):
    """What decides who is eligible in a partition's next state."""

    min_isr: int  # min.insync.replicas, or the number of replicas if that is smaller
    candidates: Brokers  # the assigned replicas, without those that are known to lack records
    unbound: Brokers = ()  # brokers that as leaders commit by their own settings alone: Kafka's
    is_proven: bool = True  # the leader has said that it leads: its log was found fit to


def first_leader(assignment: Assignment, live: Brokers) -> Choice | None:
    """Of a new partition: all its live replicas are in sync, because there is nothing to have."""
    alive = _those(assignment.replicas, live)
    return Choice(alive[0], alive) if alive else None


def members(state: PartitionState) -> tuple[BrokerId, ...]:
    """All that have everything which was committed: the ISR, and those who are eligible."""
    if not state.eligible:
        return state.isr
    return tuple(dict.fromkeys((*state.isr, *state.eligible)))


def with_eligible(after: PartitionState, before: PartitionState, terms: Terms) -> PartitionState:
    """The state that shall follow `before`, with those named who are eligible in it.

    A state without a leader commits nothing, whatever the setting: it is not lowered there. Nor is
    it while the leader may turn out to lack records, which the others have: one that was elected
    just now, or that this controller has not heard of.
    """
    min_isr = terms.min_isr
    if after.leader is None or after.leader != before.leader or not terms.is_proven:
        min_isr = max(min_isr, before.eligible_min_isr)
    is_lowered = min_isr < before.eligible_min_isr
    waiting: tuple[BrokerId, ...] = ()
    if not (is_lowered or min_isr <= len(after.isr) or after.leader in terms.unbound):
        others = (it for it in members(before) if it not in after.isr)
        waiting = tuple(it for it in others if it in terms.candidates)
    incarnations = after.incarnations
    if incarnations:
        incarnations = tuple(it for it in incarnations if it[0] in {*after.isr, *waiting})
    return after._replace(
        eligible=waiting, eligible_min_isr=min_isr if waiting else 0, incarnations=incarnations
    )


def named(
    assignment: Assignment, state: PartitionState
) -> tuple[PartitionState, frozenset[BrokerId]]:
    """The state with those members alone that the assignment names, and the others.

    An ISR of which none is named stays: they are all that there is.
    """
    found = state._replace(
        isr=_those(state.isr, assignment.replicas) or state.isr,
        eligible=_those(state.eligible, assignment.replicas),
    )
    return found, frozenset(members(state)) - frozenset(members(found))


def after_a_failure(assignment: Assignment, state: PartitionState, live: Brokers) -> Choice | None:
    """The first live member of the ISR, else the first live one of those who are eligible."""
    in_sync = _those(state.isr, live)
    for replica in assignment.replicas:
        if replica in in_sync:
            return Choice(replica, in_sync)
    others = _those(state.eligible, live)
    for replica in assignment.replicas:
        if replica in others:
            return Choice(replica, (replica,))
    return None


def unproven(choice: Choice, state: PartitionState, unclean: Brokers, terms: Terms) -> Choice:
    """A leader that may yet turn out to lack records: no other is given up for it before."""
    after = with_eligible(state._replace(leader=choice.leader, isr=choice.isr), state, terms)
    if choice.leader not in state.isr or set(state.isr) <= {*members(after)}:
        return choice
    return choice._replace(isr=tuple(it for it in state.isr if it not in unclean))


def uncleanly(assignment: Assignment, live: Brokers) -> Choice | None:
    """Any live replica: records that only others have are lost."""
    alive = _those(assignment.replicas, live)
    return Choice(alive[0], alive[:1], unclean=True) if alive else None


def preferred(assignment: Assignment, state: PartitionState, live: Brokers) -> Choice | None:
    """The first replica of the assignment, if it could lead at once."""
    first = assignment.replicas[0]
    if first in live and first in state.isr:
        return Choice(first, state.isr)
    return None


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
    state: PartitionState, choice: Choice, controller_epoch: ControllerEpoch, terms: Terms
) -> PartitionState:
    """The state after an election, as it will be once its znode was written."""
    after = PartitionState(
        leader=choice.leader,
        leader_epoch=LeaderEpoch(state.leader_epoch + 1),
        isr=choice.isr,
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
        controller_epoch=controller_epoch,
        recovering=choice.unclean or state.recovering,
        incarnations=() if choice.unclean else state.incarnations,
    )
    return after if choice.unclean else with_eligible(after, state, terms)


def same_leader(state: PartitionState, controller_epoch: ControllerEpoch) -> PartitionState:
    """A new leader epoch of the same leader, with the same ISR: its replicas have changed."""
    return state._replace(
        leader_epoch=LeaderEpoch(state.leader_epoch + 1),
        partition_epoch=PartitionEpoch(state.partition_epoch + 1),
        controller_epoch=controller_epoch,
    )


def without(
    state: PartitionState, gone: Brokers, controller_epoch: ControllerEpoch, terms: Terms
) -> PartitionState | None:
    """The state once these replicas are gone; None where it stays as it is.

    Where no member is left the ISR stays whole: each of them has everything that was committed,
    and whichever returns first may lead.
    """
    isr = tuple(replica for replica in state.isr if replica not in gone) or state.isr
    return _if_changed(_without(state, gone, isr, terms), state, controller_epoch)


def leaving(state: PartitionState, removed: Brokers, terms: Terms) -> PartitionState:
    """The same state without replicas that no assignment names any more; not in another epoch."""
    isr = tuple(replica for replica in state.isr if replica not in removed)
    assert isr, f"no replica stays of {state}"
    return with_eligible(state._replace(isr=isr), state, terms)


def without_unclean(
    state: PartitionState, unclean: Brokers, controller_epoch: ControllerEpoch, terms: Terms
) -> PartitionState | None:
    """The state once these members were found to lack records; None where no other member has them.

    Unlike those that are only gone they are not eligible. The others who have everything take
    their place, dead or alive: the partition waits for them.
    """
    whole = tuple(it for it in members(state) if it not in unclean)
    if not whole:
        return None
    isr = tuple(it for it in state.isr if it not in unclean) or whole
    return _if_changed(_without(state, unclean, isr, terms), state, controller_epoch)


def _without(
    state: PartitionState, gone: Brokers, isr: tuple[BrokerId, ...], terms: Terms
) -> PartitionState:
    leader = None if state.leader is not None and state.leader in gone else state.leader
    return with_eligible(state._replace(leader=leader, isr=isr), state, terms)


def _if_changed(
    after: PartitionState, before: PartitionState, controller_epoch: ControllerEpoch
) -> PartitionState | None:
    if (after.isr, after.leader, after.eligible) == (before.isr, before.leader, before.eligible):
        return None
    return same_leader(after, controller_epoch)


def _those(replicas: Sequence[BrokerId], live: Brokers) -> tuple[BrokerId, ...]:
    return tuple(replica for replica in replicas if replica in live)

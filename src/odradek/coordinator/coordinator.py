"""The coordinator of one broker: a shard for each partition of the internal topic that it leads.

It finds the shard of a group or a transactional id, keeps what the shell has to do apart by
partition, and says when its next timer is due. A leadership is known by its leader epoch: news of
an append or a high watermark that belong to an earlier one are no news any more.

How many partitions there are is what the topic says, not the settings, for they may have changed
since the topic was created: without the topic no group is coordinated.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

from odradek.coordinator.decision import (
    NO_EFFECTS,
    Answer,
    Call,
    CoordinatorEffects,
    Decision,
    Moment,
)
from odradek.coordinator.errors import NotCoordinator
from odradek.coordinator.placement import partition_of
from odradek.coordinator.shard import Machine, Shard
from odradek.model.errors import ErrorCode
from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Millis
from odradek.wire.schema import Struct

M = TypeVar("M", bound=Machine)


class Place(NamedTuple):
    """Which leadership of which partition is meant."""

    partition: int
    leader_epoch: LeaderEpoch


@dataclass(frozen=True, slots=True)
class CoordinatorSpec(Generic[M]):
    """What a coordinator is made of: given once, at its start."""

    partitions: Callable[[], int]  # of the topic as it is now; 0 if there is none
    new_machine: Callable[[], M]
    refuse: Callable[[Any, ErrorCode], Struct | ErrorCode]  # a response that says no more
    write_timeout: Millis


class Coordinator(Generic[M]):
    """The shards that this broker leads, under their partitions."""

    def __init__(self, spec: CoordinatorSpec[M]) -> None:
        self._spec = spec
        self._shards: dict[int, tuple[LeaderEpoch, Shard, M]] = {}

    # -- leadership -------------------------------------------------------------------------------

    def elected(self, place: Place) -> tuple[Shard, CoordinatorEffects]:
        """This broker leads the partition now: the shard is to be loaded from its log.

        What an earlier leadership left unanswered is answered. The shell loads into the shard it
        is given, calls its `loaded`, and then tells the high watermark as ever.
        """
        effects = self.resigned(place.partition)
        machine = self._spec.new_machine()
        shard = Shard(machine, self._spec.write_timeout)
        self._shards[place.partition] = (place.leader_epoch, shard, machine)
        return shard, effects

    def begin_again(self, place: Place, *, unreadable: str | None) -> None:
        """Its log could not be read whole, and will be read once more, into the same shard."""
        leader_epoch, shard, _ = self._shards[place.partition]
        machine = self._spec.new_machine()
        shard.begin_again(machine, unreadable=unreadable)
        self._shards[place.partition] = (leader_epoch, shard, machine)

    def resigned(self, partition: int) -> CoordinatorEffects:
        """This broker leads the partition no longer."""
        found = self._shards.pop(partition, None)
        return NO_EFFECTS if found is None else found[1].resign()

    # -- what happens -----------------------------------------------------------------------------

    def partition_of(self, subject: str) -> int | None:
        """Where a group or transactional id belongs; nowhere as long as there is no topic."""
        partitions = self._spec.partitions()
        return partition_of(subject, partitions) if partitions else None

    def on_call(
        self, subject: str, call: Call, now: Moment
    ) -> tuple[Place | None, CoordinatorEffects]:
        """A request about this group or transactional id. No place: another broker leads it."""
        partition = self.partition_of(subject)
        found = None if partition is None else self._shards.get(partition)
        if partition is None or found is None:
            refused = self.refuse(call.request)
            return None, CoordinatorEffects(answer=(Answer(call.ticket, refused),))
        leader_epoch, shard, _ = found
        return Place(partition, leader_epoch), shard.on_call(call, now)

    def on_end(
        self, partition: int, call: Call, now: Moment
    ) -> tuple[Place | None, CoordinatorEffects]:
        """A `TransactionEnd` for this partition of the topic."""
        found = self._shards.get(partition)
        if found is None:
            answer = Answer(call.ticket, NotCoordinator.code)
            return None, CoordinatorEffects(answer=(answer,))
        leader_epoch, shard, _ = found
        return Place(partition, leader_epoch), shard.on_call(call, now)

    def refuse(self, request: Any) -> Struct | ErrorCode:
        """The response that another broker is to be asked."""
        return self._spec.refuse(request, NotCoordinator.code)

    def appended(self, place: Place, number: int, base_offset: Offset) -> None:
        """These records are in the log."""
        shard = self._shard(place)
        if shard is not None:
            shard.appended(number, base_offset)

    def append_failed(
        self, place: Place, number: int, failure: tuple[ErrorCode, Moment]
    ) -> CoordinatorEffects:
        """These records are not in the log, and will not be."""
        shard = self._shard(place)
        return NO_EFFECTS if shard is None else shard.append_failed(number, *failure)

    def committed(self, place: Place, high_watermark: Offset, now: Moment) -> CoordinatorEffects:
        """All below is on every replica that could lead."""
        shard = self._shard(place)
        return NO_EFFECTS if shard is None else shard.committed(high_watermark, now)

    def on_event(
        self, place: Place, decide: Callable[[M, Moment], Iterable[Decision]], now: Moment
    ) -> CoordinatorEffects:
        """Something that concerns one leadership, such as what a broker answers."""
        shard = self._shard(place)
        if shard is None:
            return NO_EFFECTS
        return shard.on_event(partial(self._decide, place.partition, decide), now)

    def carry_out(
        self, decide: Callable[[M, Moment], Iterable[Decision]], now: Moment
    ) -> Iterator[tuple[Place, CoordinatorEffects]]:
        """Something that concerns every partition, such as the end of a topic.

        Those whose log is still being read find out what follows for them when they are active.
        """
        for partition, (leader_epoch, shard, _) in tuple(self._shards.items()):
            effects = shard.on_event(partial(self._decide, partition, decide), now)
            yield Place(partition, leader_epoch), effects

    def _decide(
        self,
        partition: int,
        decide: Callable[[M, Moment], Iterable[Decision]],
        now: Moment,
    ) -> Iterable[Decision]:
        """By the machine that has read all of the log."""
        return decide(self._shards[partition][2], now)

    # -- time -------------------------------------------------------------------------------------

    def next_deadline(self) -> Millis | None:
        """`tick` has nothing to do before this."""
        deadlines = [shard.next_deadline() for _, shard, _ in self._shards.values()]
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def tick(self, now: Moment) -> Iterator[tuple[Place, CoordinatorEffects]]:
        """What time alone has brought about, partition by partition."""
        for partition, (leader_epoch, shard, _) in tuple(self._shards.items()):
            deadline = shard.next_deadline()
            if deadline is not None and deadline <= now.monotonic:
                yield Place(partition, leader_epoch), shard.tick(now)

    # -- reading ----------------------------------------------------------------------------------

    def machines(self) -> Iterator[M]:
        """Those whose log has been read, for questions about all of them."""
        return (machine for _, shard, machine in self._shards.values() if shard.active)

    @property
    def loading(self) -> bool:
        """Whether a part of the answer is still missing, and is being read."""
        return any(
            not shard.active and shard.unreadable is None for _, shard, _ in self._shards.values()
        )

    def unreadable(self) -> Iterator[tuple[int, str]]:
        """Partitions whose logs cannot be read, and why: what belongs to them is refused."""
        for partition, (_, shard, _) in sorted(self._shards.items()):
            if shard.unreadable is not None:
                yield partition, shard.unreadable

    def _shard(self, place: Place) -> Shard | None:
        found = self._shards.get(place.partition)
        return found[1] if found is not None and found[0] == place.leader_epoch else None

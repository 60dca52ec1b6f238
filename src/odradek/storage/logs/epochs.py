"""Which leader epoch wrote which part of a log (KIP-101, 279, 320).

Two replicas compare their logs by asking each other where an epoch ended. The history is a list
of (epoch, start offset), both rising strictly; an epoch ends where the next one starts, the last
one at the end of the log. A new epoch is noted before a record of it is written, and saved to
`leader-epoch-checkpoint` before the recovery point passes that record: below the recovery point the
file tells the epochs, behind it the batches do.

Invariant: epochs and start offsets rise strictly, and none is negative.
"""

from bisect import bisect_right
from collections.abc import Iterable
from operator import attrgetter

from odradek.model.positions import NO_LEADER_EPOCH, NO_OFFSET, LeaderEpoch, Offset
from odradek.storage.files.checkpoints import EpochStart

_epoch = attrgetter("leader_epoch")
_start = attrgetter("start_offset")


class EpochHistory:
    """The leader epochs of one log. Methods that change it say whether they did."""

    __slots__ = ("_entries", "latest")

    def __init__(self, entries: Iterable[EpochStart] = ()) -> None:
        self._entries: tuple[EpochStart, ...] = tuple(entries)
        self.latest: LeaderEpoch = NO_LEADER_EPOCH
        self._changed(self._entries)

    @property
    def entries(self) -> tuple[EpochStart, ...]:
        """The history, oldest first."""
        return self._entries

    def assign(self, leader_epoch: LeaderEpoch, start_offset: Offset) -> bool:
        """Notes that this epoch writes from this offset on.

        What contradicts it at the tail has no records, or is about to be overwritten, and
        goes: Kafka's rule, which keeps the history monotonic whatever a log went through.
        """
        assert leader_epoch >= 0, leader_epoch
        assert start_offset >= 0, start_offset
        if self._entries:
            last = self._entries[-1]
            if last.leader_epoch == leader_epoch and last.start_offset <= start_offset:
                return False
        kept = tuple(
            entry
            for entry in self._entries
            if entry.leader_epoch < leader_epoch and entry.start_offset < start_offset
        )
        return self._changed((*kept, EpochStart(leader_epoch, start_offset)))

    def end_offset_for(
        self, leader_epoch: LeaderEpoch, log_end_offset: Offset
    ) -> tuple[LeaderEpoch, Offset]:
        """The largest epoch not above the one asked for, and where it ended in this log.

        (-1, -1) where the history cannot tell: no epoch was asked for, or a newer one than any.
        Below the oldest entry the epoch itself is answered, with the offset at which that starts.
        """
        if leader_epoch == NO_LEADER_EPOCH or leader_epoch > self.latest:
            return NO_LEADER_EPOCH, NO_OFFSET
        if leader_epoch == self.latest:
            return leader_epoch, log_end_offset
        higher = bisect_right(self._entries, leader_epoch, key=_epoch)
        end = self._entries[higher].start_offset
        if higher == 0:
            return leader_epoch, end
        return self._entries[higher - 1].leader_epoch, end

    def epoch_at(self, offset: Offset) -> LeaderEpoch:
        """The epoch that wrote, or would have written, this offset; -1 before the first."""
        at = bisect_right(self._entries, offset, key=_start)
        return self._entries[at - 1].leader_epoch if at else NO_LEADER_EPOCH

    def start_of(self, leader_epoch: LeaderEpoch) -> Offset | None:
        """Where exactly this epoch began; None where the history does not hold it."""
        at = bisect_right(self._entries, leader_epoch, key=_epoch)
        if at and self._entries[at - 1].leader_epoch == leader_epoch:
            return self._entries[at - 1].start_offset
        return None

    def truncate_from_end(self, log_end_offset: Offset) -> bool:
        """Forgets the epochs that start at this offset or beyond it."""
        return self._changed(
            tuple(entry for entry in self._entries if entry.start_offset < log_end_offset)
        )

    def truncate_from_start(self, log_start_offset: Offset) -> bool:
        """Forgets the epochs that ended before this offset; the one that holds it starts there."""
        at = bisect_right(self._entries, log_start_offset, key=_start)
        if not at:
            return False
        floor = EpochStart(self._entries[at - 1].leader_epoch, log_start_offset)
        return self._changed((floor, *self._entries[at:]))

    def clear(self) -> bool:
        """Forgets everything: the log starts anew elsewhere."""
        return self._changed(())

    def copy(self) -> "EpochHistory":
        """The same history, to be changed apart from this one."""
        return EpochHistory(self._entries)

    def _changed(self, entries: tuple[EpochStart, ...]) -> bool:
        changed = entries != self._entries
        self._entries = entries
        self.latest = entries[-1].leader_epoch if entries else NO_LEADER_EPOCH
        return changed

"""Where logs may start and end, whatever is deleted, cut off and fetched again."""

from typing import NamedTuple

from odradek.model.ids import BrokerId
from odradek.sim.worlds.cluster.promises.insides import Copied, Copies, Looks
from odradek.sim.worlds.cluster.view import Place
from odradek.storage.logs.log import PartitionLog


class Bounds(NamedTuple):
    """Where a log starts, and its high watermark."""

    start: int
    high_watermark: int

    def kept(self, committed: int) -> "Bounds":
        """How far they may not fall: to what is committed.

        Where all may be lost, or what no client was told of, the log that is elected then may end
        below the start of another, of which retention had deleted more. That one is cut to its
        leader's end, and starts there.
        """
        return Bounds(min(self.start, committed), min(self.high_watermark, committed))


class BoundsHoldEverywhere(Looks):
    """A log starts at or below its high watermark, which is not above its end.

    Neither falls, as far as it is committed. Where all may have been lost, a log may be of the
    history before: it is cut to the leader's.
    """

    def __init__(self, copies: Copies) -> None:
        super().__init__(copies)
        self._before: dict[tuple[BrokerId, Place, int], tuple[PartitionLog, Bounds]] = {}

    def look(self) -> None:
        """Of every log, and what it was when it was last looked at."""
        before, self._before = self._before, {}
        for number, place, log in self._copies.logs():
            start, high_watermark = log.log_start_offset, log.high_watermark
            stable, end = log.last_stable_offset, log.log_end_offset
            assert start <= stable <= high_watermark <= end, (
                f"{place} of {number}: {start}, {stable}, {high_watermark}, {end}"
            )
            now, copied = Bounds(start, high_watermark), self._copies.of[place]
            key = (number, place, copied.since)
            same, kept = before.get(key, (log, now))
            if same is log:  # who lost something cuts off what was not synced, and fetches again
                assert high_watermark >= kept.high_watermark or number in copied.spoilt, (
                    f"{place} of {number}: {now}, it was {kept}"
                )
                assert start >= kept.start, f"{place} of {number}: {now}, it was {kept}"
            entries, state = log.epochs.entries, self._copies.states.get(place)
            last = entries[-1].leader_epoch if entries else -1
            assert state is None or last <= state.leader_epoch, f"{place} of {number}: {last}"
            self._before[key] = log, self._kept(number, copied, now, last)

    def _kept(self, number: BrokerId, copied: Copied, now: Bounds, last_epoch: int) -> Bounds:
        """How far they may not fall from now on."""
        is_old = copied.since and copied.may_be_of_before(number, last_epoch)
        return Bounds(0, 0) if is_old else now.kept(copied.committed)

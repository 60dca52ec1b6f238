"""What is promised of records that are committed: where they are, and that they are the same."""

from typing import ClassVar

from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.cluster_insides import Looks


class LogsAreOneHistory(Invariant):
    """Below the high watermark all logs of a partition have the same batches."""

    watches: ClassVar = frozenset({"logs.differ"})

    def on(self, event: Event) -> None:
        """`Copies` compares; two that differ are too many."""
        raise AssertionError(" ".join(map(str, event.details)))


class InSyncReplicasHaveAll(Looks):
    """What is committed is in the log of every member of the ISR, and of all that may be elected.

    But of those whose disk has lost something: they find out themselves, and join when they are
    whole again. One that was eligible may be elected before it has found out: it does not lead
    then, and the others stay eligible. A log that its broker takes for the older of two does not
    lead either: the one that is meant may be on a disk that is offline.
    """

    def look(self) -> None:
        """Of every replica that serves."""
        for number, place, found in self._copies.logs():
            copied, state = self._copies.of[place], self._copies.states.get(place)
            if state is None or number in copied.corrupt or found.is_doubted:
                continue
            if number in copied.lacking:
                joined = number in state.isr and number != state.leader
                must_be_whole = number in copied.outside and joined
            else:
                must_be_whole = number in state.isr or number in state.eligible
            if must_be_whole:
                end = found.log_end_offset
                assert end >= copied.committed, (
                    f"{place}: {copied.committed} was committed, and broker {number} of "
                    f"{state.isr} ends at {end}"
                )

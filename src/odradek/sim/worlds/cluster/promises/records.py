"""What is promised of records that are committed: where they are, and that they are the same."""

from typing import ClassVar

from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.cluster.clients.users import PLAIN
from odradek.sim.worlds.cluster.promises.insides import Copies, Looks
from odradek.sim.worlds.cluster.view import Place


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


class LeadersHaveAll(Looks):
    """Who leads has all that is committed, whatever its disk has lost: it would not lead else.

    One that was elected leads once it has found out whether its log is whole.
    """

    def look(self) -> None:
        """Of every leadership that is not of a time before something may be lost."""
        for number, place, replica in self._copies.led:
            copied, state = self._copies.of.get(place), self._copies.states.get(place)
            if copied is None or state is None or replica.log.unclean is not None:
                continue
            if number in copied.corrupt or state.leader_epoch != replica.leader_epoch:
                continue
            end = replica.log.log_end_offset
            assert end >= copied.committed, (
                f"{place}: {copied.committed} was committed, and broker {number} "
                f"leads and ends at {end}"
            )


class AcknowledgedByEnough(Invariant):
    """What acks=all has acknowledged is on as many disks as its leader asked for, or more.

    That is the lowest value that a leader of the partition had between the sending and the answer.
    Brokers that are down, lack a disk, or have lost something since, may have had it.
    """

    watches: ClassVar = frozenset({"client.sends", "client.acked"})

    def __init__(self, copies: Copies) -> None:
        self._copies = copies
        self._sent: dict[str, int] = {}  # when, by the record

    def on(self, event: Event) -> None:
        """Counts, where somebody was told so just now."""
        if event.what == "client.sends":
            self._sent.update(dict.fromkeys(event.details[2], event.moment))
            return
        topic, number, base, values = event.details
        since = self._sent.get(values[0], event.moment)
        for place, copied in self._copies.of.items():
            if topic == PLAIN or place.partition != (topic, number) or copied.since:
                continue
            end = base + len(values)
            if self._holders(place, end) < self._copies.disks(place, since):
                self._copies.min_isrs.look()
                self._copies.look()
            holders, disks = self._holders(place, end), self._copies.disks(place, since)
            assert holders >= disks, f"{place}: {end} was acknowledged by {holders}, not {disks}"

    def _holders(self, place: Place, end: int) -> int:
        copied, view = self._copies.of[place], self._copies.view
        opened = {it for it, _ in view.opened() if view.acting(it).is_whole}
        have = {it for it, reached in copied.ends.items() if reached >= end}
        return len(have | copied.spoilt | (view.brokers.keys() - opened))

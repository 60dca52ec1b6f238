"""What clients of logs were told, and what of it cannot all be true.

In the manner of Jepsen's test for Kafka: it knows nothing of brokers, only what was sent, answered
and read, in the order in which clients noticed. These are the anomalies:

    lost          acknowledged, and not found although somebody has read what stands behind it
    unseen        acknowledged, and not found in the end
    duplicate     one record at two offsets, of a producer whose records are stored once
    reordered     two records of such a producer, the later one before the earlier
    inconsistent  two records at one offset
    phantom       a record that was not sent, or not there
    nonmonotonic  a poll that goes back behind what the same reader has read
    skipped       a poll that passes over what is known to be there

Records of a topic are believed until they may be lost (of some, when the power fails): then all
that is known of them is forgotten, and so is what is told later by somebody who began before.
"""

from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

Place = tuple[str, int]  # topic, partition


class Anomaly(NamedTuple):
    """One of those above."""

    kind: str
    place: Place
    what: str

    def __str__(self) -> str:
        topic, number = self.place
        return f"{self.kind}: {topic}-{number} {self.what}"


class Sent(NamedTuple):
    """Where a record belongs: its producer's records rise in `number`."""

    place: Place
    producer: str
    number: int


class ClientHistory:
    """Grows fact by fact; whatever does not fit is in `anomalies`."""

    def __init__(self, *, once: Collection[str]) -> None:
        self.anomalies: list[Anomaly] = []
        self._once = frozenset(once)
        self._sent: dict[str, Sent] = {}  # by the record, each of which is unique
        self._under_way: set[str] = set()  # records that were sent since nothing was lost
        self._known: dict[Place, dict[int, str]] = defaultdict(dict)  # told by whomever
        self._offsets: dict[Place, dict[str, int]] = defaultdict(dict)  # of records stored once
        self._written: dict[tuple[Place, str], list[tuple[int, int]]] = defaultdict(list)
        self._unread: dict[Place, dict[int, str]] = defaultdict(dict)  # acknowledged
        self._due: dict[Place, set[int]] = {}  # what of it an audit must find
        self._read: dict[Place, set[int]] = defaultdict(set)
        self._positions: dict[tuple[str, Place], int] = {}  # of readers
        self._starts: dict[Place, int] = {}  # below these somebody has let records be deleted

    def sends(self, producer: str, place: Place, values: Sequence[str]) -> None:
        """A producer begins to send, one record after the other."""
        for value in values:
            self._under_way.add(value)
            self._sent[value] = Sent(place, producer, len(self._sent))

    def acknowledged(self, place: Place, base: int, values: Sequence[str]) -> None:
        """They are there, says the answer."""
        for offset, value in enumerate(values, base):
            if value not in self._under_way and value in self._sent:
                continue  # it was sent before something was lost
            self._learn(place, offset, value)
            if offset not in self._read[place]:
                self._unread[place][offset] = value

    def seeks(self, reader: str, place: Place, position: int) -> None:
        """A reader goes on there."""
        self._positions[reader, place] = position

    def strays(self, reader: str, place: Place) -> None:
        """A reader was handed what cannot be trusted; nothing follows from it until it seeks."""
        self._positions.pop((reader, place), None)

    def polled(self, reader: str, place: Place, records: Sequence[tuple[int, str]]) -> None:
        """A reader was handed these; what another was handed before it says nothing new."""
        position = self._positions.get((reader, place))
        if position is None:
            return  # it began before the power failed, or strays
        known, read = self._known[place], self._read[place]
        for offset, value in records:
            if offset != position:
                self._follow(place, position, offset)
            position = offset + 1
            if offset not in read or known[offset] != value:
                self._learn(place, offset, value)
                read.add(offset)
                self._unread[place].pop(offset, None)
        self._positions[reader, place] = position

    def lost(self, topics: Collection[str]) -> None:
        """What these have may be gone.

        What was deleted before may be found again, or not: it depends on who leads.
        """
        self._under_way = {it for it in self._under_way if self._sent[it].place[0] not in topics}
        for reader, place in [key for key in self._positions if key[1][0] in topics]:
            del self._positions[reader, place]
        for table in (self._known, self._unread, self._read, self._offsets):
            for place in [place for place in table if place[0] in topics]:
                del table[place]
        for key in [key for key in self._written if key[0][0] in topics]:
            del self._written[key]

    def deletes(self, place: Place, before: int) -> None:
        """Somebody asks for that: what is below need not be found any more."""
        self._starts[place] = max(before, self._starts.get(place, 0))

    def audit(self, topic: str) -> None:
        """Somebody begins to read it from the start: what is acknowledged by now must be found."""
        for place, unread in self._unread.items():
            if place[0] == topic:
                self._due[place] = set(unread)

    def end(self) -> None:
        """All readers have read."""
        for place, due in sorted(self._due.items()):
            highest, unread = max(self._read[place], default=-1), self._unread[place]
            start = self._starts.get(place, 0)
            for offset in sorted(it for it in due.intersection(unread) if it >= start):
                value, kind = unread[offset], "lost" if offset < highest else "unseen"
                self._blame(kind, place, f"was told to have {value} at {offset}")

    def _blame(self, kind: str, place: Place, what: str) -> None:
        self.anomalies.append(Anomaly(kind, place, what))

    def _follow(self, place: Place, position: int, offset: int) -> None:
        if offset < position:
            self._blame("nonmonotonic", place, f"was read at {offset}, after {position - 1}")
        known = self._known[place]
        first = max(position, self._starts.get(place, 0))
        missed = next((at for at in range(first, offset) if at in known), None)
        if missed is not None:
            self._blame("skipped", place, f"has {known[missed]} at {missed}, and a poll {offset}")

    def _learn(self, place: Place, offset: int, value: str) -> None:
        before = self._known[place].setdefault(offset, value)
        if before != value:
            self._blame("inconsistent", place, f"has {before} and {value} at {offset}")
        sent = self._sent.get(value)
        if sent is None or sent.place != place:
            self._blame("phantom", place, f"has {value} at {offset}, which no client sent there")
        elif place[0] in self._once:
            self._order(sent, offset, value)

    def _order(self, sent: Sent, offset: int, value: str) -> None:
        """Compares with the same record elsewhere, and with its neighbours of the same producer."""
        place = sent.place
        where = self._offsets[place].setdefault(value, offset)
        if where != offset:
            self._blame("duplicate", place, f"has {value} at {where} and at {offset}")
            return
        written, entry = self._written[place, sent.producer], (sent.number, offset)
        at = bisect(written, entry)
        if at and written[at - 1] == entry:
            return
        if (at and written[at - 1][1] > offset) or (at < len(written) and written[at][1] < offset):
            self._blame("reordered", place, f"has {value} at {offset}, on the wrong side of others")
        insort(written, entry)

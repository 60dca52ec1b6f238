"""What a broker promises its clients, whatever happens to it."""

from collections import defaultdict
from typing import Any, ClassVar

from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.broker_clients import DURABLE

Place = tuple[str, int]


class AcknowledgedRecordsSurvive(Invariant):
    """A record is read where it was acknowledged: durable ones for ever, others until power fails.

    A reader who begins to look after an acknowledgement finds the record in that very pass.
    """

    watches: ClassVar = frozenset(
        {
            *("client.sends", "client.acked", "client.looks", "client.read", "client.end"),
            "loses power",
        }
    )

    def __init__(self) -> None:
        self._promised: dict[Place, dict[int, str]] = defaultdict(dict)
        self._expected: dict[Place, dict[int, str]] = {}  # by the reader in this pass
        self._had_power: set[str] = set()  # since the producer of a topic began to send

    def on(self, event: Event) -> None:
        """Remembers what was promised, and compares what is read with it."""
        match event.what:
            case "loses power":
                self._had_power.clear()
                for promised in (self._promised, self._expected):
                    for place in [place for place in promised if place[0] != DURABLE]:
                        del promised[place]
            case "client.sends":
                self._had_power.add(event.details[0])
            case "client.acked":
                topic, number, base, values = event.details
                if topic == DURABLE or topic in self._had_power:  # or it came too late to count
                    self._promised[topic, number].update(enumerate(values, base))
            case "client.looks":
                (topic,) = event.details
                for place, offsets in self._promised.items():
                    if place[0] == topic:
                        self._expected[place] = dict(offsets)
            case "client.read":
                topic, number, offset, value = event.details
                known = self._promised[topic, number].get(offset, value)
                assert known == value, f"{topic}-{number} at {offset}: {value}, not {known}"
                self._expected.get((topic, number), {}).pop(offset, None)
            case _:
                topic, number, end = event.details
                missing = sorted(self._expected.pop((topic, number), {}).items())
                assert not missing, f"{topic}-{number} ends at {end} without {missing[:3]}"


class OffsetsAreOneForAll(Invariant):
    """Whoever reads an offset reads the same record, as long as no power was lost."""

    watches: ClassVar = frozenset({"client.read", "loses power"})

    def __init__(self) -> None:
        self._read: dict[tuple[Any, ...], str] = {}

    def on(self, event: Event) -> None:
        """Compares each read with the first of that offset."""
        if event.what == "loses power":
            self._read = {it: value for it, value in self._read.items() if it[0] == DURABLE}
            return
        *where, value = event.details
        before = self._read.setdefault(tuple(where), value)
        assert before == value, f"{where}: {value}, and before it was {before}"


class ProducersKeepTheirOrder(Invariant):
    """What one idempotent producer has written stands in its order, and stands there once."""

    watches: ClassVar = frozenset({"client.read"})

    def __init__(self) -> None:
        self._places: dict[tuple[Place, str], dict[int, int]] = defaultdict(dict)

    def on(self, event: Event) -> None:
        """Values say who wrote them, and rise."""
        topic, number, offset, value = event.details
        if topic != DURABLE:
            return
        producer, _, written = value.partition("/")
        places = self._places[(topic, number), producer]
        where = places.setdefault(int(written), offset)
        assert where == offset, f"{value} is at {where} and at {offset} of {topic}-{number}"
        for other, its_offset in places.items():
            in_order = (other < int(written)) == (its_offset < offset) or other == int(written)
            assert in_order, f"{producer}/{other} at {its_offset}, {value} at {offset}"


class CommitsSurvive(Invariant):
    """A position that a group has committed is where it goes on, until power is lost."""

    watches: ClassVar = frozenset(
        {"client.commits", "client.committed", "client.found", "loses power"}
    )

    def __init__(self) -> None:
        self._committed: dict[Place, int] = {}
        self._had_power = False  # since the member began to commit

    def on(self, event: Event) -> None:
        """Positions only rise here: the one member reads on."""
        if event.what == "loses power":
            self._committed.clear()
            self._had_power = False
            return
        if event.what == "client.commits":
            self._had_power = True
            return
        topic, number, position = event.details
        place = (topic, number)
        if event.what == "client.found":
            before = self._committed.get(place, 0)
            assert position >= before, f"{place}: {position}, and {before} was committed"
        if event.what == "client.found" or self._had_power:
            self._committed[place] = position

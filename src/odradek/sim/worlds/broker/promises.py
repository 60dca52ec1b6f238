"""What a broker promises its clients, whatever happens to it."""

import errno
from collections import defaultdict
from collections.abc import Collection
from typing import ClassVar

from odradek.sim.client_history import ClientHistory, Place
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.broker.clients import AUDITOR, DURABLE, FAST


class AcknowledgedRecordsSurvive(Invariant):
    """A record is read where it was acknowledged: durable ones for ever, others until power fails.

    A reader who begins to look after an acknowledgement finds the record in that very pass.
    """

    watches: ClassVar = frozenset(
        {
            *("client.sends", "client.acked", "client.looks", "client.read", "client.end"),
            "broker.lost_power",
        }
    )

    def __init__(self) -> None:
        self._promised: dict[Place, dict[int, str]] = defaultdict(dict)
        self._expected: dict[Place, dict[int, str]] = {}  # by the reader in this pass
        self._had_power: set[str] = set()  # since the producer of a topic began to send

    def on(self, event: Event) -> None:
        """Remembers what was promised, and compares what is read with it."""
        if event.who == AUDITOR:
            return  # reads while the reader does; `ClientsAreToldOneStory` judges that
        match event.what:
            case "broker.lost_power":
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
                topic, starts = event.details
                for number, start in starts:
                    known_ones = self._promised[topic, number]
                    self._expected[topic, number] = {
                        offset: value for offset, value in known_ones.items() if offset >= start
                    }
            case "client.read":
                topic, number, records, _ = event.details
                promises = self._promised[topic, number]
                expected = self._expected.get((topic, number), {})
                for offset, value in records:
                    known = promises.get(offset, value)
                    assert known == value, f"{topic}-{number} at {offset}: {value}, not {known}"
                    expected.pop(offset, None)
            case _:
                topic, number, end = event.details
                missing = sorted(self._expected.pop((topic, number), {}).items())
                assert not missing, f"{topic}-{number} ends at {end} without {missing[:3]}"


class ClientsAreToldOneStory(Invariant):
    """All that clients are told of logs can be true: nothing is lost, doubled, moved, invented."""

    watches: ClassVar = frozenset(
        {
            *("client.sends", "client.acked", "client.looks", "client.found"),
            *("client.read", "client.polled", "broker.lost_power"),
        }
    )

    def __init__(self, once: Collection[str] = frozenset({DURABLE})) -> None:
        self._history = ClientHistory(once=once)

    def on(self, event: Event) -> None:
        """Tells the checker, which compares."""
        match event.what, event.details:
            case "client.looks", (topic, starts):
                if event.who == AUDITOR:
                    self._history.audit(topic)
                for number, start in starts:
                    self._history.seeks(event.who, (topic, number), start)
            case "client.found", (topic, number, position):
                self._history.seeks(event.who, (topic, number), position)
            case "client.read" | "client.polled", (topic, number, records, leader_epoch):
                if self._is_believed((topic, number), leader_epoch):
                    self._history.polled(event.who, (topic, number), records)
                else:
                    self._history.strays(event.who, (topic, number))
            case _:
                self._on_written(event)
        self._assert_true()

    def _is_believed(self, place: Place, leader_epoch: int) -> bool:
        """Whether a leader of that epoch can know what is there."""
        del place, leader_epoch
        return True

    def _on_written(self, event: Event) -> None:
        """Something was sent, acknowledged, or may be lost."""
        match event.what, event.details:
            case "broker.lost_power", _:
                self._history.lost({FAST})
            case "client.sends", (topic, number, values):
                self._history.sends(values[0].partition("/")[0], (topic, number), values)
            case "client.acked", (topic, number, base, values):
                self._history.acknowledged((topic, number), base, values)

    def at_end(self) -> None:
        """The auditor has read everything."""
        self._history.end()
        self._assert_true()

    def _assert_true(self) -> None:
        assert not self._history.anomalies, "; ".join(map(str, self._history.anomalies[:3]))


class CommitsSurvive(Invariant):
    """A position that a group has committed is where it goes on, until power is lost."""

    watches: ClassVar = frozenset(
        {"client.joins", "client.commits", "client.committed", "client.found", "broker.lost_power"}
    )

    def __init__(self) -> None:
        self._committed: dict[Place, int] = {}
        self._expected: dict[str, dict[Place, int]] = {}  # by who joins now
        self._had_power: set[str] = set()  # since they began to commit

    def on(self, event: Event) -> None:
        """Positions only rise here: a member that takes over reads on."""
        match event.what:
            case "broker.lost_power":
                self._committed.clear()
                self._expected.clear()
                self._had_power.clear()
                return
            case "client.joins":
                self._expected[event.who] = dict(self._committed)
                return
            case "client.commits":
                self._had_power.add(event.who)
                return
        topic, number, position = event.details
        place = (topic, number)
        if event.what == "client.found":
            before = self._expected.get(event.who, {}).get(place, 0)
            assert position >= before, f"{place}: {position}, and {before} was committed"
        elif event.who in self._had_power:
            self._committed[place] = max(position, self._committed.get(place, 0))


class OldGenerationsCommitNothing(Invariant):
    """Once a member is in a new generation, none commits in an older one."""

    watches: ClassVar = frozenset(
        {"client.joins", "client.joined", "client.commits", "client.committed", "broker.lost_power"}
    )

    def __init__(self) -> None:
        self._newest = 0
        self._had_power: set[str] = set()  # since they began to join
        self._began: dict[str, tuple[int, int]] = {}  # its generation, and the newest then

    def on(self, event: Event) -> None:
        """Compares the generation of a commit with the newest that was known when it began."""
        match event.what:
            case "broker.lost_power":
                self._newest = 0  # what the group was may not have been synced
                self._had_power.clear()
                self._began.clear()
            case "client.joins":
                self._had_power.add(event.who)
            case "client.joined":
                if event.who in self._had_power:
                    self._newest = max(self._newest, event.details[0])
            case "client.commits":
                self._began[event.who] = (event.details[0], self._newest)
            case _:
                generation, newest = self._began.get(event.who, (0, 0))
                assert generation >= newest, f"committed in {generation}, after {newest} had begun"


class GenerationsRise(Invariant):
    """Who joins a group is in a generation that is not older than one it could have known."""

    watches: ClassVar = frozenset({"client.joins", "client.joined", "broker.lost_power"})

    def __init__(self) -> None:
        self._newest = 0
        self._known: dict[str, int] = {}  # the newest when each began to join

    def on(self, event: Event) -> None:
        """What a power cut takes of a group is not promised."""
        match event.what:
            case "broker.lost_power":
                self._newest = 0
                self._known.clear()
            case "client.joins":
                self._known[event.who] = self._newest
            case _ if event.who in self._known:
                generation, known = event.details[0], self._known[event.who]
                assert generation >= known, f"{event.who} is in {generation}, {known} was before"
                self._newest = max(self._newest, generation)


class MembersShareNothing(Invariant):
    """In one generation no partition has two readers."""

    watches: ClassVar = frozenset({"client.joins", "client.joined", "broker.lost_power"})

    def __init__(self) -> None:
        self._had_power: set[str] = set()
        self._taken: dict[tuple[int, str], str] = {}

    def on(self, event: Event) -> None:
        """Compares what members were told."""
        if event.what == "broker.lost_power":
            self._had_power.clear()
            self._taken.clear()
        elif event.what == "client.joins":
            self._had_power.add(event.who)
        elif event.who in self._had_power:
            generation, partitions = event.details
            for partition in partitions:
                other = self._taken.setdefault((generation, partition), event.who)
                assert other == event.who, f"{partition} is {other}'s in {generation}"


class FullDisksStayOnline(Invariant):
    """A disk without room refuses writes, and is not given up for it while the broker runs.

    No simulated sync fails for want of room. A start that finds none for what it has to repair
    cannot open the dir.
    """

    watches: ClassVar = frozenset({"log", "starts"})

    def __init__(self) -> None:
        self._not_opened: set[tuple[str, object]] = set()  # which dir of which broker

    def on(self, event: Event) -> None:
        """The reason is in the line."""
        if event.what == "starts":
            self._not_opened = {it for it in self._not_opened if it[0] != event.who}
            return
        _, what, *fields = event.details
        of_dirs = {(event.who, it) for it in fields if str(it).startswith("log_dir=")}
        if what == "log_dir.cannot_be_opened":
            self._not_opened |= of_dirs
        elif what == "log_dir.offline" and not of_dirs & self._not_opened:
            assert not any(f"[Errno {errno.ENOSPC}]" in str(it) for it in fields), fields

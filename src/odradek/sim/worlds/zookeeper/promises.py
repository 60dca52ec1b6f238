"""What ZooKeeper promises, watched from outside: the journal and what clients were told.

Only answers count. A node is known by (path, czxid); what it held is known by mzxid.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from odradek.sim.doors.journal import Ledger
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.zookeeper.visitors import ABANDONED, GONE, PAIR, Fact


def facts_of(event: Event) -> Iterator[Fact]:
    """What an answer showed."""
    return (detail for detail in event.details if isinstance(detail, Fact))


class DurableBeforeAnswered(Invariant):
    """Nothing is shown to a client that a crash could still take back."""

    watches: ClassVar = frozenset({"zk.answered"})

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def on(self, event: Event) -> None:
        """The newest transaction in an answer is in the journal."""
        newest = max((max(fact.mzxid, fact.pzxid) for fact in facts_of(event)), default=0)
        assert newest <= self._ledger.last_zxid, f"{newest:#x} beyond {self._ledger.last_zxid:#x}"


class OneOrder(Invariant):
    """Transactions have one order, over all lives of the server."""

    watches: ClassVar = frozenset({"journal.entry"})

    def __init__(self) -> None:
        self._last = 0

    def on(self, event: Event) -> None:
        """Each is newer than all before it."""
        zxid = event.details[0]
        assert zxid > self._last, f"{zxid:#x} after {self._last:#x}"
        self._last = zxid


class Agreement(Invariant):
    """All clients are told the same about a node at a version, and only what somebody wrote."""

    watches: ClassVar = frozenset({"zk.ask", "zk.answered"})

    def __init__(self) -> None:
        self._by_version: dict[tuple[str, int, int], tuple[int, bytes]] = {}
        self._by_mzxid: dict[tuple[str, int], tuple[int, int]] = {}
        self._asked: dict[bytes, str] = {}  # by whom a value was written, and where to

    def on(self, event: Event) -> None:
        """Compares with what was told before."""
        if event.what == "zk.ask":
            number, kind, path = event.details
            self._asked[b"%d" % number] = path if kind != "pair" else "/pair/"
            return
        for path, czxid, mzxid, version, _, _, value in facts_of(event):
            if czxid == GONE:
                continue
            identity = (czxid, version)
            known = self._by_mzxid.setdefault((path, mzxid), identity)
            assert known == identity, f"{path}: {known} and {identity} both at {mzxid:#x}"
            if value is not None:
                wanted = self._asked.get(value.split(b".")[0], "nowhere")
                assert path.startswith(wanted), f"{path} holds {value!r}, written to {wanted}"
                told = self._by_version.setdefault((path, czxid, version), (mzxid, value))
                assert told == (mzxid, value), f"{path} v{version}: {told}, then {mzxid} {value!r}"


@dataclass(slots=True)
class _Known:
    """What is known of one path: it was at least at `mzxid`, as an answer said."""

    mzxid: int = 0
    asked_at: int = 0  # the number of the operation whose answer said so
    deletes: dict[int, int] = field(default_factory=dict)  # until which operation each was possible


class AcknowledgedWritesSurvive(Invariant):
    """What was answered once is seen by all who ask later, until somebody deletes it."""

    watches: ClassVar = frozenset({"zk.ask", "zk.answered", "zk.failed", "zk.lost", "zk.unknown"})

    def __init__(self) -> None:
        self._known: dict[str, _Known] = {}
        self._asked: dict[int, tuple[str, str, int, int]] = {}  # with what was known of the path
        self._newest = 0

    def on(self, event: Event) -> None:
        """An answer shows nothing older than what was known when it was asked for."""
        number = event.details[0]
        if event.what == "zk.ask":
            _, kind, path = event.details
            self._newest = number
            known = self._known.setdefault(path, _Known())
            self._asked[number] = (kind, path, known.mzxid, known.asked_at)
            if kind == "delete":
                known.deletes[number] = sys.maxsize
            return
        kind, path, mzxid, asked_at = self._asked.pop(number)
        known = self._known[path]
        if kind == "delete" and event.what == "zk.answered":
            known.deletes[number] = self._newest
        elif kind == "delete" and event.what != "zk.unknown":
            del known.deletes[number]
        for fact in facts_of(event):
            if fact.czxid != GONE:
                assert fact.path != path or fact.mzxid >= mzxid, (
                    f"{path}: {fact.mzxid:#x} after {mzxid:#x}"
                )
                self._learn(fact, number)
            elif kind != "delete" and mzxid and not path.startswith("/live/"):
                possible = any(until >= asked_at for until in known.deletes.values())
                assert possible, f"{path} is gone, and no client deleted it"

    def _learn(self, fact: Fact, number: int) -> None:
        known = self._known.setdefault(fact.path, _Known())
        if fact.mzxid > known.mzxid:
            known.mzxid, known.asked_at = fact.mzxid, number


class WatchesBeforeReplies(Invariant):
    """A client that watches a node hears of a change before any answer shows it."""

    watches: ClassVar = frozenset({"zk.ask", "zk.answered", "zk.event", "zk.session", "starts"})

    def __init__(self) -> None:
        self._watched: dict[tuple[str, str, str], int] = {}  # client, path, list or data -> zxid
        self._kinds: dict[int, str] = {}

    def on(self, event: Event) -> None:
        """Compares every answer with what its client watches."""
        who = event.who
        if event.what == "zk.ask":
            self._kinds[event.details[0]] = event.details[1]
        elif event.what == "zk.answered":
            kind = self._kinds.pop(event.details[0])
            for fact in facts_of(event):
                self._look(who, kind, fact)
        elif event.what == "zk.event":
            _, kind, path = event.details
            if kind == "NODE_CHILDREN_CHANGED":
                self._watched.pop((who, path, "list"), None)
            else:
                self._watched.pop((who, path, "data"), None)
                if kind == "NODE_DELETED":
                    self._watched.pop((who, path, "list"), None)
        elif event.what == "starts" or event.details[1] in {"EXPIRED", "CLOSED", ABANDONED}:
            self._watched = {key: zxid for key, zxid in self._watched.items() if key[0] != who}

    def _look(self, who: str, kind: str, fact: Fact) -> None:
        for aspect, zxid in (("data", fact.mzxid), ("list", fact.pzxid)):
            seen = self._watched.get((who, fact.path, aspect), zxid)
            assert seen == zxid, f"{fact.path}: the {aspect} of {seen:#x} is now of {zxid:#x}"
        if kind in {"get+watch", "exists+watch"} and (fact.czxid != GONE or kind[0] == "e"):
            self._watched[who, fact.path, "data"] = fact.mzxid
        elif kind == "children+watch":
            self._watched[who, fact.path, "list"] = fact.pzxid


class EphemeralsLiveWithTheirSession(Invariant):
    """An ephemeral node is there as long as its session, and no longer."""

    watches: ClassVar = frozenset({"zk.ask", "zk.answered", "zk.session", "starts"})

    def __init__(self) -> None:
        self._dead: dict[int, int] = {}  # session: the newest operation when its end was known
        self._mine: dict[tuple[int, str], None] = {}  # made in a session, and not seen to go
        self._newest = 0

    def on(self, event: Event) -> None:
        """No client sees a node of a dead session; its maker sees that of its living one."""
        if event.what == "zk.ask":
            self._newest = event.details[0]
        elif event.what == "zk.session":
            session, status = event.details
            if status in {"EXPIRED", "CLOSED"}:
                self._dead.setdefault(session, self._newest)
        elif event.what == "zk.answered":
            number, session = event.details[:2]
            for fact in facts_of(event):
                self._look(number, session, fact)

    def _look(self, number: int, session: int, fact: Fact) -> None:
        if fact.owner:
            known = self._dead.get(fact.owner, number)
            assert number <= known, f"{fact.path} has outlived its session {fact.owner:#x}"
            if fact.owner == session:
                self._mine[session, fact.path] = None
        elif fact.czxid == GONE:
            assert (session, fact.path) not in self._mine, (
                f"{fact.path} is gone although its session {session:#x} lives"
            )


class PairsChangeTogether(Invariant):
    """A multi is done as a whole: no client ever sees a part of it."""

    watches: ClassVar = frozenset({"zk.answered"})

    def on(self, event: Event) -> None:
        """Two nodes that are only ever written together were last written together."""
        shown = {fact.path: fact for fact in facts_of(event)}
        if all(path in shown for path in PAIR):
            one, other = (shown[path] for path in PAIR)
            same = one.mzxid == other.mzxid or (one.version == other.version == 0)
            assert same, f"{one} beside {other}"


class BatchesKeepTheirOrder(Invariant):
    """What one client sends at once is done in the order in which it was sent."""

    watches: ClassVar = frozenset({"zk.answered"})

    def on(self, event: Event) -> None:
        """Writes of one batch to one node rise."""
        facts = list(facts_of(event))
        if len({fact.path for fact in facts}) == 1:
            zxids = [fact.mzxid for fact in facts]
            assert zxids == sorted(set(zxids)), zxids


class WritesReplaceWhatTheyName(Invariant):
    """A conditional write replaces exactly the version that it named."""

    watches: ClassVar = frozenset({"zk.names", "zk.answered"})

    def __init__(self) -> None:
        self._named: dict[int, int] = {}

    def on(self, event: Event) -> None:
        """The version that it made is the next one."""
        if event.what == "zk.names":
            number, version = event.details
            self._named[number] = version
            return
        named = self._named.pop(event.details[0], None)
        if named is None:
            return
        for fact in facts_of(event):
            assert fact.version == named + 1, f"{fact.path}: {named} was named, and it is {fact}"

"""Whether what several clients saw can be explained by one order of transactions.

Every write writes data that no other does, and every transaction has a number, so the order need
not be searched for: it is the order of the numbers, and what each client saw either fits it or
does not. The rules, all for nodes that exist throughout:

1. Each version of a node has one transaction and one data, the next version a later transaction.
2. Each version was written by one write: one that succeeded, or one whose outcome is unknown.
   What was refused, or was never sent, is never seen.
3. A conditional write makes the version behind the one that it named.
4. What began after something ended comes later in the order, whoever did it; reads included.
5. The writes of one multi are one transaction: of those that were seen, all are.
6. A client hears of a change of what it watches before it sees an answer that shows the change.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.zookeeper.protocol.jute import Stat


class Read(NamedTuple):
    """A node as it was seen, by a read or in the answer to a write."""

    client: int
    path: str
    began: int
    ended: int
    data: bytes
    stat: Stat
    watch: bool = False


@dataclass
class Write:
    """One transaction that somebody wanted: new data for some nodes, perhaps by version."""

    client: int
    data: dict[str, bytes]
    versions: dict[str, int]  # -1 asks for none
    began: int
    ended: int = 1 << 60
    stats: dict[str, Stat] = field(default_factory=dict)  # of those that succeeded
    refused: bool = False  # or never sent

    @property
    def zxid(self) -> int | None:
        """The number of its transaction, if that is known."""
        zxids = {stat.mzxid for stat in self.stats.values()}
        assert len(zxids) < 2, f"rule 5: one multi, several transactions: {self}"
        return zxids.pop() if zxids else None


class Heard(NamedTuple):
    """A watch fired."""

    client: int
    path: str
    at: int


class History:
    """What happened, in the order in which the clients' owners saw it; moments are just counted."""

    def __init__(self) -> None:
        self.moment = 0
        self.reads: list[Read] = []
        self.writes: list[Write] = []
        self.log: list[Read | Write | Heard] = []  # in the order of the ends

    def now(self) -> int:
        """The next moment."""
        self.moment += 1
        return self.moment

    def begin(self, client: int, data: dict[str, bytes], versions: dict[str, int]) -> Write:
        """A write is on its way."""
        write = Write(client, data, versions, self.now())
        self.writes.append(write)
        return write

    def end(self, write: Write, stats: dict[str, Stat] | None, *, refused: bool = False) -> None:
        """It has succeeded, was refused, or nobody knows."""
        write.refused = refused
        if stats is not None:
            write.stats = stats
            write.ended = self.now()
            self.log.append(write)

    def read(self, read: Read) -> None:
        """A read was answered."""
        self.reads.append(read)
        self.log.append(read)

    def heard(self, client: int, path: str) -> None:
        """A watch fired."""
        self.log.append(Heard(client, path, self.now()))

    def explain(self) -> None:
        """Raises an `AssertionError` that names the rule which this history breaks."""
        seen = self._versions()
        self._writers(seen)
        self._order_in_time(seen)
        self._whole_multis(seen)
        self._events_first()

    def _versions(self) -> "Seen":
        """Rules 1 and 3."""
        seen: Seen = defaultdict(dict)
        views = [(r.path, r.stat, r.data) for r in self.reads]
        for write in self.writes:
            assert write.zxid is None or not write.refused, write
            for path, stat in write.stats.items():
                views.append((path, stat, write.data[path]))
                wanted = write.versions[path]
                assert wanted in {-1, stat.version - 1}, f"rule 3: {write}"
        for path, stat, data in views:
            before = seen[path].setdefault(stat.version, (stat.mzxid, data))
            assert before == (stat.mzxid, data), (
                f"rule 1: {path} {stat.version}: {before}, {data!r}"
            )
        for path, versions in seen.items():
            zxids = [versions[version][0] for version in sorted(versions)]
            assert zxids == sorted(set(zxids)), f"rule 1: {path}: {zxids}"
        return seen

    def _writers(self, seen: "Seen") -> None:
        """Rule 2."""
        writers: dict[tuple[str, bytes], Write] = {}
        for write in self.writes:
            for path, data in write.data.items():
                assert (path, data) not in writers, "the workload repeats itself"
                writers[path, data] = write
        for path, versions in seen.items():
            datas = [data for version, (_, data) in versions.items() if version]
            assert len(datas) == len(set(datas)), f"rule 2: {path}: one write, two versions"
            for data in datas:
                writer = writers.get((path, data))
                assert writer is not None, f"rule 2: {path}: nobody wrote {data!r}"
                assert not writer.refused, f"rule 2: {path}: {data!r} was seen, but {writer}"
            missing = max(versions) - len(datas)
            unknown = [
                write
                for write in self.writes
                if path in write.data and not (write.refused or write.stats)
            ]
            unseen = [write for write in unknown if write.data[path] not in datas]
            assert missing <= len(unseen), f"rule 2: {path}: {missing} versions without a writer"

    def _order_in_time(self, seen: "Seen") -> None:
        """Rule 4: `floor` is the newest transaction that anything which has ended has shown."""
        ends = [(read.ended, read.stat.mzxid) for read in self.reads]
        ends += [(write.ended, write.zxid) for write in self.writes if write.zxid is not None]
        ends.sort()
        begins: list[tuple[int, Read | Write]] = [(read.began, read) for read in self.reads]
        begins += [(write.began, write) for write in self.writes if write.zxid is not None]
        floor, position = 0, 0
        for began, deed in sorted(begins, key=lambda begin: begin[0]):
            while position < len(ends) and ends[position][0] < began:
                floor = max(floor, ends[position][1])
                position += 1
            if isinstance(deed, Write):
                assert deed.zxid is not None
                assert deed.zxid > floor, f"rule 4: transaction {floor} was over before {deed}"
            else:
                due = max((z for z, _ in seen[deed.path].values() if z <= floor), default=0)
                assert deed.stat.mzxid >= due, f"rule 4: {deed} should show {due}"

    def _whole_multis(self, seen: "Seen") -> None:
        """Rule 5, for those whose outcome was unknown: what was seen has one transaction."""
        for write in self.writes:
            zxids = {
                zxid
                for path, data in write.data.items()
                for zxid, content in seen[path].values()
                if content == data
            }
            assert len(zxids) < 2, f"rule 5: {write} is {len(zxids)} transactions"
            for path in write.data if zxids else ():
                (zxid,) = zxids
                others = [z for z, content in seen[path].values() if content != write.data[path]]
                assert zxid not in others, f"rule 5: {write} was done by half at {path}"

    def _events_first(self) -> None:
        """Rule 6."""
        armed: dict[tuple[int, str], int] = {}  # the newest transaction seen when it was armed
        for item in self.log:
            if isinstance(item, Heard):
                armed.pop((item.client, item.path), None)
                continue
            views = {item.path: item.stat} if isinstance(item, Read) else item.stats
            for path, stat in views.items():
                known = armed.get((item.client, path))
                assert known is None or stat.mzxid <= known, f"rule 6: no event before {item}"
            if isinstance(item, Read) and item.watch:
                armed[item.client, item.path] = item.stat.mzxid


Seen = dict[str, dict[int, tuple[int, bytes]]]
"""Of each node, of each version: its transaction and its data."""

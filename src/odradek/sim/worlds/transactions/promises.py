"""What transactions promise, judged by what was tried, told and seen: in the manner of Elle."""

from collections import defaultdict
from typing import ClassVar

from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.transactions.clients import IDS
from odradek.sim.worlds.transactions.readers import TARGETS

Row = tuple[str, int]
"""A transaction's tag, and the offset in its source of what it has copied."""


def _row(value: bytes) -> Row:
    tag, offset = value.decode().split()
    return tag, int(offset)


class CommittedIsOneStory(Invariant):
    """Readers see committed transactions, whole, each once, in order, and with their offsets."""

    watches: ClassVar = frozenset(
        {"txn.aborted", "txn.committed", "txn.read", "final.read", "final.position"}
    )

    def __init__(self) -> None:
        self._aborted: set[str] = set()
        self._committed: set[str] = set()
        self._read: dict[tuple[int, int], Row] = {}  # by partition and offset
        self._final: dict[int, dict[int, Row]] = {it.partition: {} for it in TARGETS}
        self._positions: dict[int, int] = {}

    def on(self, event: Event) -> None:
        """Remembers; what is shown at an offset once is shown there always."""
        match event.what, event.details:
            case "txn.aborted", (tag,):
                self._aborted.add(tag)
            case "txn.committed", (tag,):
                self._committed.add(tag)
            case "txn.read", (partition, offset, value):
                row = _row(value)
                assert row[0] not in self._aborted, f"aborted, and read: {row}"
                known = self._read.setdefault((partition, offset), row)
                assert known == row, f"{partition} has {row} at {offset}, and had {known}"
            case "final.read", (partition, offset, value):
                self._final[partition][offset] = _row(value)
            case "final.position", (number, position):
                self._positions[number] = position

    def at_end(self) -> None:
        """Lost, doubled, aborted, torn, reordered, or apart from its offsets."""
        assert len(self._positions) == IDS, "no client has looked"
        for (partition, offset), row in self._read.items():
            final = self._final[partition].get(offset)
            assert final == row, f"read and not committed: {row} at {partition}:{offset}, {final}"
        by_tag: dict[str, dict[int, list[int]]] = defaultdict(lambda: defaultdict(list))
        for partition, rows in self._final.items():
            for _, (tag, source) in sorted(rows.items()):
                by_tag[tag][partition].append(source)
        for tag, partitions in by_tag.items():
            assert tag not in self._aborted, f"aborted, and there: {tag}"
            copies = list(partitions.values())
            is_whole = len(copies) == len(TARGETS) and all(it == copies[0] for it in copies)
            assert is_whole, f"torn: {tag} is {dict(partitions)}"
        lost = self._committed - set(by_tag)
        assert not lost, f"committed, and not there: {sorted(lost)}"
        for partition in self._final:
            self._judge(partition)

    def _judge(self, partition: int) -> None:
        for number, position in self._positions.items():
            copied = [
                source
                for _, (tag, source) in sorted(self._final[partition].items())
                if tag.startswith(f"copier-{number}.")
            ]
            assert copied == sorted(copied), f"reordered: {copied} in {partition}"
            assert copied == list(range(position)), (
                f"source {number} is copied up to {position}, and {partition} has {copied}"
            )


class FencedProducersAreNotHeard(Invariant):
    """Who was fenced commits nothing any more."""

    watches: ClassVar = frozenset({"txn.began", "txn.ends", "txn.committed"})

    def __init__(self) -> None:
        self._newest: dict[str, tuple[int, int]] = {}
        self._late: dict[str, str] = {}  # transactions whose end was asked for too late, and why

    def on(self, event: Event) -> None:
        """A commit that is asked for once another process was told that it is there now."""
        match event.what, event.details:
            case "txn.began", (name, identity):
                self._newest[name] = max(identity, self._newest.get(name, identity))
            case "txn.ends", (name, tag, identity):
                if identity < self._newest[name]:
                    self._late[tag] = f"{identity}, fenced by {self._newest[name]}"
            case "txn.committed", (tag,):
                assert tag not in self._late, f"{tag} of {self._late.get(tag)}"


class StableStaysStable(Invariant):
    """What a leader says is decided for good was decided under every leader before."""

    watches: ClassVar = frozenset({"txn.stable"})

    def __init__(self) -> None:
        self._known: dict[int, tuple[int, int]] = {}  # by partition: leader epoch, and how far

    def on(self, event: Event) -> None:
        """The last stable offset never falls, from one leader epoch to the same or a later one."""
        partition, leader_epoch, stable = event.details
        known_epoch, known = self._known.get(partition, (-1, 0))
        if leader_epoch >= known_epoch:
            assert stable >= known, f"{partition} was stable up to {known}, and is up to {stable}"
            self._known[partition] = leader_epoch, stable

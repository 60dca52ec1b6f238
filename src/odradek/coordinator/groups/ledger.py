"""The hard state of groups: what the committed log says, and nothing else.

Only `replay` and `replay_end` change it. Offsets that were committed within a transaction are
held back until its end; if a plain commit of the same partition came behind, that one stands.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.coordinator.decision import Entry
from odradek.coordinator.groups.values import (
    CommittedOffset,
    GroupKey,
    OffsetKey,
    StoredGroup,
)
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import Offset


class Recorded(NamedTuple):
    """A committed offset, and where its record lies: of two, the later one counts."""

    committed: CommittedOffset
    at: Offset


class Ledger:
    """Groups and offsets as they were written."""

    __slots__ = ("groups", "offsets", "pending")

    def __init__(self) -> None:
        self.groups: dict[str, StoredGroup] = {}
        self.offsets: dict[str, dict[TopicPartition, Recorded]] = {}  # no dict is empty
        self.pending: dict[ProducerId, dict[OffsetKey, Recorded]] = {}  # in open transactions

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return (self.groups, self.offsets, self.pending) == (
            other.groups,
            other.offsets,
            other.pending,
        )

    __hash__ = None  # type: ignore[assignment]  # it changes

    def knows(self, group: str) -> bool:
        """Whether the log says anything of the group."""
        return group in self.groups or group in self.offsets or bool(self.undecided_of(group))

    def names(self) -> Iterator[str]:
        """Every group of which the log says anything, some of them more than once."""
        yield from self.groups
        yield from self.offsets
        for offsets in self.pending.values():
            yield from (key.subject for key in offsets)

    def find(self, key: OffsetKey) -> CommittedOffset | None:
        """The position that was committed last."""
        recorded = self.offsets.get(key.subject, {}).get(key.partition)
        return None if recorded is None else recorded.committed

    def undecided(self, key: OffsetKey) -> bool:
        """Whether an open transaction has a position for it."""
        return any(key in offsets for offsets in self.pending.values())

    def undecided_of(self, group: str) -> list[OffsetKey]:
        """For which partitions open transactions have a position."""
        return [key for offsets in self.pending.values() for key in offsets if key.subject == group]

    def replay(self, offset: Offset, entry: Entry) -> None:
        """The record at this offset of the log."""
        match entry.key:
            case GroupKey(group):
                if entry.value is None:
                    self.groups.pop(group, None)
                else:
                    assert isinstance(entry.value, StoredGroup), entry
                    self.groups[group] = entry.value
            case OffsetKey() as key:
                if entry.value is None:
                    self._forget(key)
                else:
                    assert isinstance(entry.value, CommittedOffset), entry
                    self._note(key, Recorded(entry.value, offset), entry.producer)
            case _:
                raise AssertionError(entry)

    def replay_end(self, producer: ProducerId, *, committed: bool) -> None:
        """The end of a producer's transaction."""
        for key, recorded in self.pending.pop(producer, {}).items():
            standing = self.offsets.get(key.subject, {}).get(key.partition)
            if committed and (standing is None or standing.at < recorded.at):
                self._note(key, recorded, None)

    def _note(self, key: OffsetKey, recorded: Recorded, producer: ProducerId | None) -> None:
        if producer is None:
            self.offsets.setdefault(key.subject, {})[key.partition] = recorded
        else:
            self.pending.setdefault(producer, {})[key] = recorded

    def _forget(self, key: OffsetKey) -> None:
        offsets = self.offsets.get(key.subject)
        if offsets is not None:
            offsets.pop(key.partition, None)
            if not offsets:
                del self.offsets[key.subject]
        for pending in self.pending.values():
            pending.pop(key, None)

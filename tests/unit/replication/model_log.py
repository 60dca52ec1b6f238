"""A log as a list of records: what the core of a follower reads, and its effects change."""

import json

from odradek.model.positions import FIRST_INCARNATION, LeaderEpoch, Offset
from odradek.replication.following import FollowerEffects
from odradek.storage.logs.epochs import EpochHistory

Entry = tuple[int, str]


class ModelLog:
    """A log as a list of (leader epoch, record)."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.epochs = EpochHistory()
        self.high_watermark = Offset(0)
        self.checkpoint = Offset(0)
        self.log_start_offset = Offset(0)
        self.incarnation = FIRST_INCARNATION

    @property
    def log_end_offset(self) -> Offset:
        """The offset of the next record."""
        return Offset(len(self.entries))

    def append(self, entry: Entry) -> None:
        """At the end; the first record of an epoch begins it."""
        if entry[0] != self.epochs.latest:
            self.epochs.assign(LeaderEpoch(entry[0]), self.log_end_offset)
        self.entries.append(entry)

    def truncate_to(self, offset: Offset) -> None:
        """Drops this offset and what follows."""
        del self.entries[offset:]
        self.high_watermark = min(self.high_watermark, self.log_end_offset)
        self.checkpoint = min(self.checkpoint, self.high_watermark)
        self.epochs.truncate_from_end(min(offset, self.log_end_offset))

    def apply(self, effects: FollowerEffects) -> None:
        """What a follower wants done to its log."""
        if effects.truncate_to is not None:
            self.truncate_to(effects.truncate_to)
        if effects.start_fully_at is not None:
            self.entries = [(-1, "gone")] * effects.start_fully_at
            self.epochs.clear()
            self.log_start_offset = self.high_watermark = effects.start_fully_at
        if effects.append is not None:
            base, entries = json.loads(bytes(effects.append))
            assert base == self.log_end_offset, (base, self.log_end_offset)
            for epoch, record in entries:
                self.append((epoch, record))
        if effects.log_start_offset is not None:
            self.log_start_offset = effects.log_start_offset
        if effects.high_watermark is not None:
            assert effects.high_watermark <= self.log_end_offset, effects
            self.high_watermark = effects.high_watermark


def encoded(base: int, entries: list[Entry]) -> bytes:
    """What a leader sends: `ModelLog.apply` reads it."""
    return json.dumps([base, entries]).encode()

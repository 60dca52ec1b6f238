"""What one log with transactions holds, as those know it who wrote to it: the judges' truth.

It outlives every crash. What a loss of power may take is taken from it once the log is open again
and says where it ends; until then it remembers how far the log must reach (`floor`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple

from odradek.model.limits import PRODUCER_BATCHES_KEPT
from odradek.storage.settings import LogConfig


class Batch(NamedTuple):
    """One batch, with its keys and values, or the end of a transaction."""

    base: int
    last: int
    producer: int
    epoch: int
    sequence: int
    records: tuple[tuple[str, str], ...] = ()
    transactional: bool = False
    committed: bool | None = None  # what it makes of a transaction; None: it ends none

    @property
    def is_marker(self) -> bool:
        """Whether it ends a transaction."""
        return self.committed is not None

    @property
    def identity(self) -> tuple[int, ...]:
        """What compaction leaves of it, if it leaves anything."""
        return self.base, self.last, self.producer, self.epoch, self.sequence


class Transaction(NamedTuple):
    """Its batches, and the marker that ended it."""

    batches: tuple[Batch, ...]
    marker: Batch | None


class Client(NamedTuple):
    """What a producer does next."""

    epoch: int
    sequence: int
    is_open: bool


@dataclass(slots=True)
class Ledger:
    """Of one log."""

    config: LogConfig
    may_delete: bool
    has_log: bool = False
    batches: list[Batch] = field(default_factory=list)
    perhaps: list[Batch] = field(default_factory=list)  # tried last, and not answered
    end: int = 0
    start: int = 0  # deleted, durably, is all below
    start_to_be: int = 0  # and perhaps all below this
    high_watermark: int = 0  # the greatest that was ever told
    durable: int = 0  # below it nothing may be lost
    floor: int = 0  # nor below this one, but by a loss of power
    compacted: int = 0  # below it records may be gone that have successors
    doubtful: int = 0  # below it the successor itself may be gone: the end of its transaction is
    leader_epoch: int = 0
    coordinator_epoch: int = 0
    is_spoilt: bool = False  # a bit has turned in it: nothing is sure any more
    shortened: dict[int, bool] = field(default_factory=dict)
    """Producers whose newest batch was cut off: compaction may have taken the one before."""
    values: "count[int]" = field(default_factory=lambda: count(1))

    # What happens to it

    def take(self, batches: Sequence[Batch]) -> None:
        """They were appended."""
        for batch in batches:
            self.batches.append(batch)
            self.end = batch.last + 1
            if not batch.is_marker:
                self.shortened.pop(batch.producer, None)
        self.floor = self.end
        if self.config.flush_before_ack:
            self.durable = self.end

    def may_be_cut(self, offset: int) -> None:
        """It is being cut there."""
        self.floor, self.durable = min(self.floor, offset), min(self.durable, offset)

    def cut(self, end: int) -> None:
        """It ends there now."""
        for batch in self.batches:
            if batch.last >= end:
                self.shortened[batch.producer] = True
        self.batches = [batch for batch in self.batches if batch.last < end]
        self.end = end
        self.high_watermark = min(self.high_watermark, end)
        self.durable, self.compacted = min(self.durable, end), min(self.compacted, end)

    def reopened(self, start: int, end: int) -> str:
        """What is wrong with a log that was opened anew and says where it starts and ends.

        What else it may have lost, or has got of what was not answered, is so from now on.
        """
        for batch in self.perhaps:
            if batch.base == self.end and batch.last < end:
                self.take((batch,))
        self.perhaps = []
        wrong = ""
        if end > self.end:
            wrong = f"it ends at {end}, and was never written beyond {self.end}"
        elif end < max(self.floor, self.start):
            wrong = f"it ends at {end}, below {self.floor} or its start {self.start}"
        elif not self.start <= start <= self.start_to_be:
            wrong = f"it starts at {start}, not from {self.start} to {self.start_to_be}"
        if end < self.high_watermark:
            self.doubtful = max(self.doubtful, self.compacted)
        self.cut(end)
        self.start = self.start_to_be = start
        self.floor = end
        return wrong

    def loses_power(self) -> None:
        """What was not synced may be lost."""
        self.floor = self.durable

    # What is so

    def whole_below(self, offset: int) -> int:
        """Below which offset all batches are whole that begin below this one."""
        within = [batch.base for batch in self.batches if batch.base < offset <= batch.last]
        return within[0] if within else offset

    def client(self, producer: int) -> Client:
        """What this one knows of itself."""
        epoch, sequence, is_open = 0, 0, False
        for batch in self.batches:
            if batch.producer != producer:
                continue
            if batch.epoch > epoch:
                epoch, sequence = batch.epoch, 0
            if batch.is_marker:
                is_open = False
            else:
                sequence = batch.sequence + len(batch.records)
                is_open |= batch.transactional
        return Client(epoch, sequence, is_open)

    def recognised(self, producer: int) -> list[Batch]:
        """Those of which the log must know that they are there, if they are sent again.

        The last five of the newest epoch; where compaction may have taken some, the last.
        """
        known = [batch for batch in self.batches if batch.producer == producer]
        epoch = max((batch.epoch for batch in known), default=0)
        data = [batch for batch in known if batch.epoch == epoch and not batch.is_marker]
        if self.config.compact:
            last = data[-1:] if not self.shortened.get(producer) else []
        else:
            last = data[-PRODUCER_BATCHES_KEPT:]
        return [batch for batch in last if batch.base >= self.start_to_be]

    def transactions(self) -> list[Transaction]:
        """All of which something was written."""
        found: list[Transaction] = []
        begun: dict[int, list[Batch]] = {}
        for batch in self.batches:
            if batch.is_marker:
                if ended := begun.pop(batch.producer, None):
                    found.append(Transaction(tuple(ended), batch))
            elif batch.transactional:
                begun.setdefault(batch.producer, []).append(batch)
        return found + [Transaction(tuple(batches), None) for batches in begun.values()]

    def last_stable(self, high_watermark: int, start: int) -> tuple[int, int]:
        """Between which offsets a reader of committed records must stop.

        They differ where the log starts within a transaction: whether it still knows of what is
        below is its own matter.
        """
        low = high = high_watermark
        for batches, marker in self.transactions():
            if marker is not None and marker.last < high_watermark:
                continue
            low = min(low, batches[0].base)
            left = [batch.base for batch in batches if batch.last >= start]
            is_sure = batches[0].base >= (self.doubtful if marker is None else self.compacted)
            if left and is_sure:
                high = min(high, left[0])
        return max(low, start), max(high, start)

    def committed(self) -> list[tuple[int, str, str]]:
        """Offset, key and value of each record that is of no transaction, or of a committed one."""
        undecided = {
            batch.base
            for batches, marker in self.transactions()
            if marker is None or not marker.committed
            for batch in batches
        }
        return [
            (offset, key, value)
            for batch in self.batches
            if batch.base not in undecided
            for offset, (key, value) in enumerate(batch.records, batch.base)
        ]

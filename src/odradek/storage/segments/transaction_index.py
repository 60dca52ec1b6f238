"""Which transactions were aborted in one segment: what a reader of committed records skips.

Kafka's `.txnindex`: 34 bytes an entry, written when the abort marker is, ordered by the marker's
offset. It is read whole: aborts are rare, and a reader needs all that overlap its range. A segment
without aborts has no such file.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from odradek.model.ids import ProducerId
from odradek.model.positions import Offset
from odradek.storage.errors import CorruptFile

_ENTRY: Final = Struct(">hqqqq")
ENTRY_BYTES: Final = _ENTRY.size
VERSION: Final = 0


class AbortedTransaction(NamedTuple):
    """A producer's transaction that came to nothing, from its first record to its marker."""

    producer_id: ProducerId
    first_offset: Offset
    last_offset: Offset
    last_stable_offset: Offset  # once the marker was written: nothing below it is open any more


class TransactionIndex:
    """The aborted transactions of one segment; the newest may not be in the file yet."""

    __slots__ = ("entries", "path", "saved")

    def __init__(self, path: str, entries: list[AbortedTransaction]) -> None:
        self.path = path
        self.entries = entries
        self.saved = len(entries)

    def copy(self) -> "TransactionIndex":
        """It as it is now, for another thread."""
        same = TransactionIndex(self.path, self.entries.copy())
        same.saved = self.saved
        return same

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self.entries)

    def unsaved(self) -> bytes:
        """The entries that are not in the file, as they belong there."""
        return encode(self.entries[self.saved :])

    def was_saved(self, count: int) -> None:
        """The file holds so many entries now."""
        self.saved = max(self.saved, count)

    def truncate(self, end_offset: int) -> int:
        """Drops the transactions that end at this offset or beyond; how many are in the file."""
        self.entries = [entry for entry in self.entries if entry.last_offset < end_offset]
        self.saved = min(self.saved, len(self.entries))
        return self.saved

    def overlapping(self, start: int, end: int) -> tuple[list[AbortedTransaction], bool]:
        """Those that touch [start, end), and whether no later one can: all there is decided."""
        found = []
        for entry in self.entries:
            if entry.last_offset >= start and entry.first_offset < end:
                found.append(entry)
            if entry.last_stable_offset >= end:
                return found, True
        return found, False


def encode(transactions: Iterable[AbortedTransaction]) -> bytes:
    """The entries as they lie in the file."""
    return b"".join(_ENTRY.pack(VERSION, *entry) for entry in transactions)


def decode(data: bytes, path: str) -> list[AbortedTransaction]:
    """The entries of a file; CorruptFile where one is cut off, or cannot be one."""
    whole = len(data) - len(data) % ENTRY_BYTES
    if whole != len(data):
        raise CorruptFile(path, whole, "an entry is cut off")
    transactions: list[AbortedTransaction] = []
    for number, (version, producer_id, *offsets) in enumerate(_ENTRY.iter_unpack(data)):
        entry = AbortedTransaction(ProducerId(producer_id), *map(Offset, offsets))
        if version != VERSION:
            raise CorruptFile(path, number * ENTRY_BYTES, f"version {version} is not known")
        if not 0 <= entry.first_offset <= entry.last_offset:
            raise CorruptFile(path, number * ENTRY_BYTES, "a transaction ends before it begins")
        if transactions and transactions[-1].last_offset >= entry.last_offset:
            raise CorruptFile(path, number * ENTRY_BYTES, "its entries do not rise")
        transactions.append(entry)
    return transactions

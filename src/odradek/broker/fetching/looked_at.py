"""What a fetch has found so far, and how what is not in the page cache gets there."""

from typing import Final, Protocol

from odradek.broker.fetching.partition_reading import Found
from odradek.model.units import KIB, Bytes
from odradek.ports import FileRange

WARMED_BYTES: Final = Bytes(256 * KIB)


class Warmed(Protocol):
    """A fetch that waits for its ranges to be in the page cache."""

    def warmed(self) -> None:
        """One of them is."""
        ...


class LookedAt:
    """What one look at the partitions of a fetch has brought."""

    __slots__ = ("_bytes_min", "cold", "is_urgent", "partial", "rows", "size")

    def __init__(self, bytes_min: int) -> None:
        self.size = 0
        self.is_urgent = False  # an error, for instance: it is told at once
        self.rows: list[Found] = []  # for the answer
        self.partial: list[Found] = []  # those with records
        self.cold: list[tuple[str, FileRange]] = []  # not in the page cache, and in which dir
        self._bytes_min = bytes_min

    @property
    def is_enough(self) -> bool:
        """Whether to answer now."""
        return self.is_urgent or self.size >= self._bytes_min


class Warming:
    """Reads a range for the sake of the page cache: a job of the dir's worker."""

    __slots__ = ("_chunk", "_fetch")

    def __init__(self, fetch: Warmed, chunk: FileRange) -> None:
        self._fetch = fetch
        self._chunk = chunk

    def run(self) -> None:
        """In pieces, into one buffer."""
        file, position, length = self._chunk
        buffer = memoryview(bytearray(min(length, WARMED_BYTES)))
        for at in range(position, position + length, WARMED_BYTES):
            file.read_into(buffer[: min(WARMED_BYTES, position + length - at)], at)

    def done(self, error: Exception | None) -> None:
        """An error is met again, and told, when the range is sent."""
        del error
        self._fetch.warmed()

"""The bytes of a fetch, batch by batch: what is to be decoded together, and what is left out.

Every batch's CRC is checked. Control batches, batches of aborted transactions, and batches outside
the range hold no records for a reader. Compressed batches are decompressed one behind the other,
up to a bound, so that memory follows neither their number nor what they claim.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from odradek.client.records.aborted import AbortedTransactions
from odradek.model.errors import BrokerError
from odradek.model.limits import BATCH_HEADER_BYTES
from odradek.model.units import MIB, Bytes
from odradek.records.batch import (
    LENGTH_END,
    MAGIC,
    MAGIC_AT,
    BatchHeader,
    check_crc,
    read_header,
)
from odradek.records.build import build_batch
from odradek.records.compression import decompress
from odradek.records.legacy import read_message_set

DECOMPRESSED_TARGET: Final = Bytes(8 * MIB)
"""What is decompressed is handed on at this size: it is larger only where one batch is."""


class DamagedBatch(Exception):
    """A batch that cannot be read; `next_offset` is where reading can go on, if that is known."""

    def __init__(self, reason: str, offset: int, next_offset: int | None) -> None:
        super().__init__(reason)
        self.offset = offset
        self.next_offset = next_offset


@dataclass(slots=True)
class Run:
    """Batches that are decoded together: their records lie in `data`, each in its region."""

    data: bytes
    regions: list[tuple[int, int, int]] = field(default_factory=list)
    headers: list[BatchHeader] = field(default_factory=list)


@dataclass(slots=True)
class Fetched:
    """One answer's bytes for one partition, and the range that is wanted of them.

    They lie in `data` from `at` on, and end where `data` ends unless `stop` says earlier: so those
    of an answer are decoded where they were received. `position` goes up with every batch that was
    met: the next offset to fetch.
    """

    data: bytes
    position: int
    end: int
    aborted: AbortedTransactions
    at: int = 0
    stop: int | None = None

    def runs(self) -> Iterator[Run]:
        """What is to be decoded; DamagedBatch stops it, and `position` is the damaged batch's."""
        run, size = Run(self.data), 0
        parts: list[bytes] = []
        try:
            for at, header in self._wanted():
                start = at + BATCH_HEADER_BYTES
                if not header.codec:
                    if parts:
                        yield _joined(run, parts)
                        run, parts, size = Run(self.data), [], 0
                    run.regions.append((start, at + header.size, header.record_count))
                else:
                    if run.regions and not parts:
                        yield run
                        run = Run(b"")
                    plain = self._decompressed(at, header)
                    parts.append(plain)
                    run.regions.append((size, size + len(plain), header.record_count))
                    size += len(plain)
                run.headers.append(header)
                self.position = header.next_offset
                if size >= DECOMPRESSED_TARGET:
                    yield _joined(run, parts)
                    run, parts, size = Run(self.data), [], 0
        except DamagedBatch:
            if run.regions:
                yield _joined(run, parts)
            raise
        if run.regions:
            yield _joined(run, parts)

    def _wanted(self) -> Iterator[tuple[int, BatchHeader]]:
        at, stop = self.at, len(self.data) if self.stop is None else self.stop
        first = at
        while stop - at > MAGIC_AT and self.position < self.end:
            if self.data[at + MAGIC_AT] < MAGIC:
                before = stop - at
                self._convert(at, stop)
                first = at = 0
                stop = len(self.data)
                if stop == before and self.data[MAGIC_AT] < MAGIC:  # no message is whole
                    break
                continue
            if stop - at < BATCH_HEADER_BYTES:
                break
            try:
                header = read_header(self.data, at)
            except BrokerError as error:
                raise DamagedBatch(str(error), self.position, None) from error
            if header.size > stop - at:
                if at == first:  # the first batch of an answer is whole, whatever its size
                    raise DamagedBatch("the batch is cut off", self.position, None)
                break
            if header.base_offset >= self.end:
                self.position = self.end
                break
            if header.next_offset > self.position:
                self._check(at, header)
                if header.is_control:
                    view = memoryview(self.data)[at : at + header.size]
                    self.aborted.on_control(view, header)
                elif header.record_count and not self.aborted.hold(header):
                    yield at, header
                self.position = header.next_offset
            at += header.size

    def _check(self, at: int, header: BatchHeader) -> None:
        try:
            check_crc(self.data, header, at)
        except BrokerError as error:
            raise DamagedBatch(str(error), header.base_offset, header.next_offset) from error

    def _decompressed(self, at: int, header: BatchHeader) -> bytes:
        body = memoryview(self.data)[at + BATCH_HEADER_BYTES : at + header.size]
        try:
            return decompress(header.codec, body)
        except BrokerError as error:
            raise DamagedBatch(str(error), header.base_offset, header.next_offset) from error

    def _convert(self, at: int, stop: int) -> None:
        """Messages of an old format begin here: they become a batch before the rest of the data."""
        view = memoryview(self.data)[:stop]
        end = _end_of_messages(view, at)
        try:
            found = [it for it in read_message_set(view[at:end]) if it.offset >= self.position]
        except BrokerError as error:
            raise DamagedBatch(str(error), self.position, None) from error
        batch = build_batch(found, base_offset=found[0].offset) if found else b""
        self.data = bytes(batch) + bytes(view[end:])


def _end_of_messages(data: memoryview, at: int) -> int:
    """Where the last whole message of magic 0 or 1 ends."""
    while len(data) - at > MAGIC_AT and data[at + MAGIC_AT] < MAGIC:
        end = at + LENGTH_END + max(0, int.from_bytes(data[at + 8 : at + LENGTH_END], "big"))
        if end > len(data):
            break
        at = end
    return at


def _joined(run: Run, parts: list[bytes]) -> Run:
    if parts:
        run.data = parts[0] if len(parts) == 1 else b"".join(parts)
    return run

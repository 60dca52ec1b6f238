"""Walking through the batches of a segment's file, and telling where they stop being true.

Two walks: over the headers alone, which trusts the bytes between them, and over whole batches,
which checks each one's CRC and costs a read of everything. Both read in large pieces, believe no
length before it fits into the file, and name file and position of what is wrong.
"""

from collections.abc import Iterator
from typing import Final

from odradek.model.errors import BrokerError, CorruptBatch
from odradek.model.limits import BATCH_HEADER_BYTES, FRAME_BYTES_MAX
from odradek.ports import File
from odradek.records.batch import BatchHeader, check_crc, read_header
from odradek.records.legacy import SIZE_END, is_legacy, read_message_set
from odradek.storage.errors import CorruptFile

HEADERS_READ_BYTES: Final = 8 << 10
BATCHES_READ_BYTES: Final = 1 << 20


def walk_headers(file: File, path: str, start: int, end: int) -> Iterator[tuple[int, BatchHeader]]:
    """Every batch from one position to another by its header; CorruptFile where one is none."""
    position = start
    piece, piece_start = b"", start
    while position < end:
        if position + BATCH_HEADER_BYTES > piece_start + len(piece):
            piece, piece_start = (
                file.read(min(HEADERS_READ_BYTES, end - position), position),
                position,
            )
        header = _header(piece, position - piece_start, path, position)
        if position + header.size > end:
            reason = f"a batch of {header.size} bytes is cut off after {end - position}"
            raise CorruptFile(path, position, reason)
        yield position, header
        position += header.size


def walk_batches(
    file: File, path: str, start: int, end: int
) -> Iterator[tuple[int, BatchHeader, memoryview]]:
    """Every batch with its bytes, checked; CorruptFile at the first that is not as it was written.

    The bytes are good until the next step only: one buffer serves the whole walk, and grows to
    the largest batch, which is never larger than what is left of the file.
    """
    buffer = memoryview(bytearray(min(BATCHES_READ_BYTES, max(end - start, 1))))
    position, filled, at = start, 0, 0  # buffer[at:filled] are the bytes from `position` on
    while position < end:
        needed: int = BATCH_HEADER_BYTES
        header = None
        if filled - at >= needed:
            header = _header(buffer[:filled], at, path, position)
            needed = header.size
        if position + needed > end:
            reason = f"{needed} bytes are needed, the file has {end - position} more"
            raise CorruptFile(path, position, reason)
        if header is None or filled - at < needed:
            if needed > len(buffer):
                buffer = memoryview(bytearray(needed))
            wanted = min(len(buffer), end - position)
            filled, at = file.read_into(buffer[:wanted], position), 0
            if filled < needed:
                raise CorruptFile(path, position + filled, "the file ends early")
            continue
        try:
            check_crc(buffer[:filled], header, at)
        except CorruptBatch as error:
            raise CorruptFile(path, position, str(error)) from None
        yield position, header, buffer[at : at + header.size]
        at += header.size
        position += header.size


def behind(file: File, path: str, corrupt: int, end: int) -> int | None:
    """Where the batch behind a corrupt one begins: if it, or the end, is where its length says."""
    try:
        at = corrupt + _header(file.read(BATCH_HEADER_BYTES, corrupt), 0, path, corrupt).size
        if at + BATCH_HEADER_BYTES <= end:
            _header(file.read(BATCH_HEADER_BYTES, at), 0, path, at)
            return at
    except CorruptFile:
        return None
    return at if at == end else None


def is_old_format(file: File, end: int) -> bool:
    """Whether a file begins with a whole message of magic 0 or 1, by its checksum.

    To a walk such a file looks corrupt, and a recovery would cut all of it away.
    """
    head = file.read(BATCH_HEADER_BYTES, 0)
    if not is_legacy(head):
        return False
    size = SIZE_END + int.from_bytes(head[8:SIZE_END], "big", signed=True)
    if not SIZE_END < size <= min(end, FRAME_BYTES_MAX):
        return False
    try:
        return next(read_message_set(file.read(size, 0)), None) is not None
    except BrokerError:
        return False


def _header(piece: bytes | memoryview, at: int, path: str, position: int) -> BatchHeader:
    try:
        return read_header(piece, at)
    except CorruptBatch as error:
        raise CorruptFile(path, position, str(error)) from None

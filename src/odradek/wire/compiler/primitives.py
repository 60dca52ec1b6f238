"""What compiled functions call: the uncommon case of a varint, a length, an array, an error.

Nothing from here is believed to be right: a reader raises `Refused` with a reason, and the
compiled function adds which field of which message it was, and where.
"""

import struct
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

from odradek.model.errors import MalformedRequest, UnsupportedVersion
from odradek.ports import Chunk, FileRange
from odradek.wire.compiler.source import Listing

VARINT_MAX: Final = (1 << 31) - 1  # lengths are int32 in Kafka; what is above is negative there
CACHED_LENGTH_MAX: Final = 1024


class Refused(Exception):
    """Why these bytes cannot be what they should be."""


DECODE_FAULTS: Final = (Refused, IndexError, struct.error, UnicodeDecodeError)
ENCODE_FAULTS: Final = (TypeError, AttributeError, ValueError, IndexError, struct.error)


# -- varints --------------------------------------------------------------------------------------


def longer(frame: bytes | bytearray, position: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte, 128 or above, has been read; and what follows it.

    As in Kafka five bytes are the most, and a number may be written longer than it needs to be.
    """
    value = first & 127
    for shift in (7, 14, 21, 28):
        byte = frame[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if value > VARINT_MAX:
                raise Refused(f"a length of {value}")
            return value, position
    raise Refused("a varint of more than five bytes")


def varint(value: int) -> bytes:
    """An unsigned varint."""
    if value < 1 << 7:
        return bytes((value,))
    if value < 1 << 14:
        return bytes((value & 127 | 128, value >> 7))
    if value < 1 << 21:
        return bytes((value & 127 | 128, value >> 7 & 127 | 128, value >> 14))
    return bytes((value & 127 | 128,)) + varint(value >> 7)


VARINTS: Final = [varint(value) for value in range(1 << 12)]  # at hand for most lengths


# -- arrays of numbers ----------------------------------------------------------------------------


class Unpackers(dict[int, Callable[[Any, int], tuple[Any, ...]]]):
    """By count: reads so many numbers of one type. The common counts are kept."""

    def __init__(self, code: str) -> None:
        self.code = code

    def __missing__(self, count: int) -> Callable[[Any, int], tuple[Any, ...]]:
        unpack = struct.Struct(f">{count}{self.code}").unpack_from
        if count <= CACHED_LENGTH_MAX:
            self[count] = unpack
        return unpack


# -- tagged fields --------------------------------------------------------------------------------


def skip_tags(frame: bytes | bytearray, position: int, count: int, left: int) -> tuple[int, int]:
    """Passes over the tagged fields of a struct that knows none; `left` is what may still come."""
    if count > 127:
        count, position = longer(frame, position, count)
    left -= count
    if left < 0:
        raise Refused(f"{count} tagged fields")
    end = len(frame)
    for _ in range(count):
        tag = frame[position]
        position += 1
        if tag > 127:
            _, position = longer(frame, position, tag)
        size = frame[position]
        position += 1
        if size > 127:
            size, position = longer(frame, position, size)
        position += size
        if position > end:
            raise Refused(f"a tagged field of {size} bytes")
    return position, left


def tagged(fields: Sequence[tuple[int, list[bytes]]]) -> bytes:
    """The section of tagged fields at a struct's end; what each holds is already encoded."""
    out = [varint(len(fields))]
    for tag, chunks in fields:
        content = b"".join(chunks)
        out += (varint(tag), varint(len(content)), content)
    return b"".join(out)


# -- records --------------------------------------------------------------------------------------


def chunk_bytes(chunks: Sequence[Chunk]) -> int:
    """The length of pieces that lie behind one another."""
    total = 0
    for chunk in chunks:  # and no call for each
        total += chunk.length if type(chunk) is FileRange else len(chunk)
    return total


# -- errors ---------------------------------------------------------------------------------------


def malformed(fault: Exception, listing: Listing, end: int, position: int) -> MalformedRequest:
    """What compiled code raises instead of `fault`: which message, which field, where, why."""
    parts = listing.at(fault)
    missing = next((part for part in parts if position + part.end > end), parts[-1])
    reason = str(fault)
    if isinstance(fault, IndexError | struct.error):
        reason = "the bytes end too early"
    elif isinstance(fault, UnicodeDecodeError):
        reason = "a string that is not UTF-8"
    where = f"{missing.field} at byte {position + missing.start}"
    return MalformedRequest(f"{listing.title}: {where}: {reason}")


def unencodable(fault: Exception, listing: Listing) -> AssertionError:
    """A value that its field cannot hold is a bug here, wherever it came from."""
    names = ", ".join(part.field for part in listing.at(fault))
    return AssertionError(f"{listing.title}: cannot encode {names}: {fault}")


def unsupported(listing: Listing, field: str) -> NoReturn:
    """A field has a value, and the version has no place for it: as in Kafka, not a bug."""
    raise UnsupportedVersion(f"{listing.title} has no field {field}, which is set")

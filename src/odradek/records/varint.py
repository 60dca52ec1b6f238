"""The zig-zag varints inside record batches: small numbers of either sign in few bytes.

A reader takes at most the bytes that its width can need, five or ten, and refuses what would not
fit: a longer one is an attack or a mistake, never a number. Reading beyond the data raises
IndexError; the reader of the records turns that into its own refusal, once, outside of its loop.
"""

from typing import Final

from odradek.model.errors import CorruptBatch

INT64_END: Final = 1 << 63


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of 32 bits and the position behind it. Nearly all take one byte or two."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    more = data[at + 1]
    if more < 0x80:
        return (byte >> 1 & 0x3F | more << 6) ^ -(byte & 1), at + 2
    return _read_long(data, at, 32)


def read_varlong(data: bytes, at: int) -> tuple[int, int]:
    """A number of 64 bits and the position behind it."""
    byte = data[at]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at + 1
    more = data[at + 1]
    if more < 0x80:
        return (byte >> 1 & 0x3F | more << 6) ^ -(byte & 1), at + 2
    return _read_long(data, at, 64)


def _read_long(data: bytes, at: int, bits: int) -> tuple[int, int]:
    value = shift = 0
    while shift < bits:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> bits:
                break
            return (value >> 1) ^ -(value & 1), at
        shift += 7
    raise CorruptBatch(f"a varint does not fit in {bits} bits")


def write_varint(out: bytearray, value: int) -> None:
    """Appends a number of up to 64 bits; the width is the reader's affair."""
    rest = (value << 1) ^ (value >> 63)
    while rest > 0x7F:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)


def wrapped(value: int) -> int:
    """What is left of a sum in 64 bits. Times wrap around, as Java's do: any batch can be read."""
    return (value + INT64_END) % (2 * INT64_END) - INT64_END

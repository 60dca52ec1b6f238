"""`fields._in_python` in the types that mypyc makes C of; not to be used uncompiled: it is slower.

A test holds the two together. `hatch_build.py` compiles this module into the wheel.
"""

from typing import Final

from librt.strings import BytesWriter, write_i32_le, write_i64_le
from mypy_extensions import i32, i64

LENGTH_SHIFT_MAX: Final = 28
SHIFT_MAX: Final = 63
MALFORMED: Final = -1
NULL: Final = -1


def fields(  # noqa: PLR0917 - mypyc passes by position
    data: bytes,
    region: tuple[i64, i64, i64],
    numbers: BytesWriter,
    places: BytesWriter,
    slices: bool,  # noqa: FBT001
) -> bool:
    """Appends what the records of a region say of themselves; False unless they fit it.

    Of each record two numbers: the deltas of its time and its offset; and with `slices` six places:
    where key and value begin and their lengths, where headers begin and where the record ends.
    """
    at, end, left = region
    while left > 0:
        left -= 1
        length, at = length_of(data, at, end)
        if at == MALFORMED or at + length > end:
            return False
        behind = at + length
        delta, at = varint(data, at + 1, behind)
        if at == MALFORMED:
            return False
        write_i64_le(numbers, delta)
        delta, at = varint(data, at, behind)
        if at == MALFORMED:
            return False
        write_i64_le(numbers, delta)
        if slices:
            part: i64 = 0
            while part < 2:  # key and value
                part += 1
                length, at = varint(data, at, behind)
                if at == MALFORMED:
                    return False
                write_i32_le(places, i32(at))
                if length < 0:
                    write_i32_le(places, i32(NULL))
                    length = 0
                elif length < behind - at:
                    write_i32_le(places, i32(length))
                if length >= behind - at:  # something stands behind it in the record
                    return False
                at += length
            write_i32_le(places, i32(at))
            write_i32_le(places, i32(behind))
        at = behind
    return at == end


def length_of(data: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """The length of a record and where its body begins; MALFORMED in place of the latter."""
    if at >= end:
        return 0, MALFORMED
    length: i64 = data[at]
    at += 1
    if length >= 0x80:
        length &= 0x7F
        shift: i64 = 7
        while True:
            if at >= end or shift > LENGTH_SHIFT_MAX:
                return 0, MALFORMED
            byte: i64 = data[at]
            at += 1
            length |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
    if length & 1:  # less than nothing, in zig-zag
        return 0, MALFORMED
    return length >> 1, at


def varint(data: bytes, at: i64, end: i64) -> tuple[i64, i64]:
    """A number and where what is behind it begins; MALFORMED in place of the latter."""
    if at >= end:
        return 0, MALFORMED
    value: i64 = data[at]
    at += 1
    if value < 0x80:
        return (value >> 1) ^ -(value & 1), at
    value &= 0x7F
    shift: i64 = 7
    while True:
        if at >= end or shift > SHIFT_MAX:
            return 0, MALFORMED
        byte: i64 = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    half = (value >> 1) - ((value >> 63) << 63)  # as if it had no sign
    return half ^ -(value & 1), at

"""`hops.hop` in the types that mypyc makes C of; not to be used uncompiled, where it is slower.

A test holds the two together. `hatch_build.py` compiles this module into the wheel.
"""

from librt.strings import BytesWriter, write_i32_le
from mypy_extensions import i32, i64

LENGTH_SHIFT_MAX: i64 = 28


def hop(data: bytes, region: tuple[i64, i64, i64], bodies: BytesWriter) -> bool:
    """Appends where the bodies of a region's records begin and end; False unless they fit it."""
    at, end, left = region
    while left > 0:
        left -= 1
        if at >= end:
            return False
        length: i64 = data[at]
        at += 1
        if length >= 0x80:
            length &= 0x7F
            shift: i64 = 7
            while True:
                if at >= end or shift > LENGTH_SHIFT_MAX:
                    return False
                byte: i64 = data[at]
                at += 1
                length |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
        if length & 1:
            return False
        write_i32_le(bodies, i32(at))
        at += length >> 1
        if at > end:
            return False
        write_i32_le(bodies, i32(at))
    return at == end

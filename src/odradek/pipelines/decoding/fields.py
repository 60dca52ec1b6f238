"""What each record says of itself: the deltas of its time and offset, and where its parts lie.

The one place that looks at every record. In plain Python a loop goes from record to record by
length, and numpy reads the numbers of all of them at once; `native_fields` is one loop that does
both, compiled. It takes four fifths of the time away, and is used where the wheel brought it.

What a record says is not believed: its parts must lie within it.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from odradek.pipelines.decoding.varints import MalformedVarint, read_varints

LENGTH_SHIFT_MAX: Final = 28  # a length has at most five bytes
PLACES: Final = 6
NUMBERS: Final = 2

Region = tuple[int, int, int]
"""Where the records of a batch begin, where they end, and their count."""


class MalformedRecords(Exception):
    """The records of a region are not as many, or not such, as is said of them."""


class Fields(NamedTuple):
    """Of all records, as columns of numpy: `numbers` of int64, `places` of int32."""

    numbers: Any
    """Deltas of time and of offset."""
    places: Any
    """Key: start, length; value: start, length; where headers start, and where the record ends.
    A length of -1 is null. None where they were not asked for."""


def hop(data: bytes, region: Region, bodies: "array[int]") -> bool:
    """Appends where the bodies of a region's records begin and end; False unless they fit it."""
    at, end, count = region
    found: list[int] = []
    append = found.append
    for _ in range(count):
        if at >= end:
            return False
        length = data[at]
        at += 1
        if length >= 0x80:
            length &= 0x7F
            shift = 7
            while True:
                if at >= end or shift > LENGTH_SHIFT_MAX:
                    return False
                byte = data[at]
                at += 1
                length |= (byte & 0x7F) << shift
                if byte < 0x80:
                    break
                shift += 7
        if length & 1:  # less than nothing, in zig-zag
            return False
        append(at)
        at += length >> 1
        if at > end:
            return False
        append(at)
    bodies.extend(found)
    return at == end


def _in_python(data: bytes, regions: Sequence[Region], *, slices: bool) -> Fields:
    bodies = array("i")
    for region in regions:
        if not hop(data, region, bodies):
            raise MalformedRecords
    pairs = np.frombuffer(bodies, np.int32).reshape(-1, 2)
    view, ends = np.frombuffer(data, np.uint8), pairs[:, 1]
    try:
        times, at = read_varints(view, pairs[:, 0] + np.int32(1))  # behind the attributes
        offsets, at = read_varints(view, at)
        if (at > ends).any():
            raise MalformedRecords
        numbers = np.column_stack((times, offsets))
        if not slices:
            return Fields(numbers, None)
        places = np.empty((len(ends), PLACES), np.int32)
        for column in (0, 2):
            lengths, starts = read_varints(view, at)
            sizes = np.maximum(lengths, 0)
            if (sizes >= ends - starts).any():  # something stands behind it in the record
                raise MalformedRecords
            places[:, column] = starts
            places[:, column + 1] = np.maximum(lengths, -1)
            at = starts + sizes.astype(np.int32)
    except MalformedVarint:
        raise MalformedRecords from None
    places[:, 4] = at
    places[:, 5] = ends
    return Fields(numbers, places)


Way = Callable[..., Fields]


def _compiled() -> Way | None:
    """The same by `native_fields`; None where it is not compiled: then it would be slower."""
    try:
        from librt.strings import BytesWriter

        from odradek.pipelines.decoding import native_fields
    except ImportError:
        return None
    if str(native_fields.__file__).endswith(".py"):
        return None

    def in_c(data: bytes, regions: Sequence[Region], *, slices: bool) -> Fields:
        numbers, places = BytesWriter(), BytesWriter()
        for region in regions:
            if not native_fields.fields(data, region, numbers, places, slices):
                raise MalformedRecords
        return Fields(
            np.frombuffer(numbers.getvalue(), np.int64).reshape(-1, NUMBERS),
            np.frombuffer(places.getvalue(), np.int32).reshape(-1, PLACES) if slices else None,
        )

    return in_c


_found = _compiled()
COMPILED: Final = _found is not None
record_fields: Final = _found or _in_python
"""The fields of all records of these regions; MalformedRecords where they do not fit in them."""

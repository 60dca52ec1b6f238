"""Numbers with a name. `None` is absence in our code; -1 stays on the wire and in files.

Units are integers: a duration never loses a millisecond to a rounding, and two runs of the
simulator never differ in the last bit of a float.
"""

from typing import Final, NewType

Millis = NewType("Millis", int)
"""A duration, or a moment on a clock that never goes back. Only differences mean anything."""

Micros = NewType("Micros", int)
"""The same, a thousand times finer: for measuring how long something took."""

Timestamp = NewType("Timestamp", int)
"""Milliseconds since 1970 in UTC: what a record carries. The clock behind it may jump."""

Bytes = NewType("Bytes", int)
"""A size."""

SECOND: Final = Millis(1_000)
MINUTE: Final = Millis(60 * SECOND)
HOUR: Final = Millis(60 * MINUTE)
DAY: Final = Millis(24 * HOUR)

KIB: Final = Bytes(1 << 10)
MIB: Final = Bytes(1 << 20)
GIB: Final = Bytes(1 << 30)

"""What nothing may exceed, and why the numbers fit together.

These are the defaults and the hard ends of the scale. A setting may lower most of them; `config`
checks the ones that were set against each other at start, these are checked at import.
"""

from typing import Final

from odradek.model.units import GIB, KIB, MIB, Bytes

BATCH_HEADER_BYTES: Final = Bytes(61)  # magic 2, from base offset to record count
BATCH_BYTES_MAX: Final = Bytes(MIB + 12)  # message.max.bytes
FRAME_BYTES_MAX: Final = Bytes(100 * MIB)  # socket.request.max.bytes
SEGMENT_BYTES: Final = GIB  # log.segment.bytes
SEGMENT_BYTES_MAX: Final = Bytes((1 << 31) - 1)  # a position in a segment is an int32
INDEX_BYTES_MAX: Final = Bytes(10 * MIB)  # log.index.size.max.bytes
INDEX_INTERVAL_BYTES: Final = Bytes(4 * KIB)  # log.index.interval.bytes
STRING_BYTES_MAX: Final = Bytes((1 << 15) - 1)  # of one string in a message, in every version
ELEMENTS_MAX: Final = 1 << 21  # array elements and tags of one message: 250,000 partitions' state
RECORDS_PER_BATCH_MAX: Final = (1 << 31) - 1
PRODUCER_BATCHES_KEPT: Final = 5  # a client has at most so many in flight when it counts them

assert BATCH_HEADER_BYTES < BATCH_BYTES_MAX, "a batch holds more than its header"
assert BATCH_BYTES_MAX < FRAME_BYTES_MAX, "one full batch must fit in a request"
assert BATCH_BYTES_MAX < SEGMENT_BYTES, "a batch never spans two segments"
assert SEGMENT_BYTES <= SEGMENT_BYTES_MAX, "every position in a segment fits its index"
assert SEGMENT_BYTES // INDEX_INTERVAL_BYTES * 8 <= INDEX_BYTES_MAX, (
    "a full segment must not run out of index entries of eight bytes"
)

"""Clients from before Kafka 0.11: their records and their answers, made from and to today's.

Fetch up to version 3 gets message sets instead of batches: magic 0 up to version 1, magic 1 behind
it, never compressed, and at most `CONVERTED_BYTES_MAX` for each partition, because converting costs
the loop a few microseconds for each record. ListOffsets version 0 gets a list of offsets.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from odradek.broker.slices import ROWS_IN_A_SLICE, Steps
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import KIB, Bytes
from odradek.ports import Chunk, FileRange
from odradek.records.legacy import convert_down
from odradek.wire.messages.fetch import FetchRequest, FetchResponse
from odradek.wire.messages.list_offsets import ListOffsetsResponse
from odradek.wire.schema import Response

BATCHES_SINCE: Final = 4
TIMES_SINCE: Final = 2
CONVERTED_BYTES_MAX: Final = Bytes(256 * KIB)


def as_message_sets(request: FetchRequest, version: int) -> Callable[[Response], Steps[None]]:
    """Changes the answer to this fetch; reads no more than can be converted at once."""
    request.max_bytes = min(request.max_bytes, CONVERTED_BYTES_MAX)
    magic = 1 if version >= TIMES_SINCE else 0

    def convert(response: Response) -> Steps[None]:
        assert isinstance(response, FetchResponse), response
        starts = dict[tuple[str, int], int]()
        for asked, wanted in _rows(request.topics):
            starts[asked.topic, wanted.partition] = wanted.fetch_offset
            if not len(starts) % ROWS_IN_A_SLICE:
                yield
        for seen, (topic, row) in enumerate(_rows(response.responses), 1):
            if not seen % ROWS_IN_A_SLICE:
                yield
            if not row.records:
                continue
            data = b"".join(map(_bytes, row.records))
            start = starts[topic.topic, row.partition_index]
            try:
                row.records = convert_down(data, magic, start, bytes_max=CONVERTED_BYTES_MAX)
            except BrokerError as error:
                row.error_code, row.records = error.code, b""

    return convert


def _bytes(chunk: Chunk) -> bytes | bytearray | memoryview:
    """What is a range of a file was looked for in the page cache before."""
    if not isinstance(chunk, FileRange):
        return chunk
    return chunk.file.read(chunk.length, chunk.position)


def as_lists_of_offsets(response: Response) -> Steps[None]:
    """Each partition gets the one offset that was found, if any."""
    assert isinstance(response, ListOffsetsResponse), response
    for seen, (_, row) in enumerate(_rows(response.topics), 1):
        if not seen % ROWS_IN_A_SLICE:
            yield
        if row.error_code == ErrorCode.NONE and row.offset >= 0:
            row.old_style_offsets = [row.offset]
        row.offset = row.timestamp = row.leader_epoch = -1


def _rows(topics: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Partitions with their topics."""
    for topic in topics:
        for row in topic.partitions:
            yield topic, row

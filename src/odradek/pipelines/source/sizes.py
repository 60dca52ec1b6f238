"""How many bytes an offset takes in each partition, for limits and cuts by bytes.

Batches at the beginning and in the middle of what is to be read are looked at: no right to describe
log dirs is needed, and a topic whose records grew is met as it is now.
"""

from contextlib import suppress
from typing import Final

from odradek.client.errors import DataLost
from odradek.client.records.fetching import FetchSettings
from odradek.client.records.offsets import Position
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import KIB, Bytes
from odradek.pipelines.connections import client_of, sentences
from odradek.pipelines.positions import Positions
from odradek.pipelines.source.options import SourceOptions
from odradek.records.batch import read_header

SAMPLE_BYTES: Final = Bytes(64 * KIB)


def offset_bytes(
    options: SourceOptions, start: Positions, end: Positions
) -> dict[TopicPartition, float]:
    """By partition, as it is stored: compressed batches count as they are."""
    found = {}
    with sentences(options.client):
        for partition in end:
            low, high = start.offset(partition) or 0, end.offset(partition) or 0
            if low < high:
                places = {low, low + (high - low) // 2}
                samples = [_sample(options, partition, place, high) for place in sorted(places)]
                size, count = (sum(column) for column in zip(*samples, strict=True))
                found[partition] = size / max(count, 1)
    return found


def _sample(
    options: SourceOptions, partition: TopicPartition, offset: int, end: int
) -> tuple[int, int]:
    """Bytes of the batches at an offset, and how many offsets they take."""
    settings = FetchSettings(SAMPLE_BYTES, options.client.fetch_wait_ms_max, check_crc=False)
    with suppress(DataLost):
        client = client_of(options.client)
        for part in client.fetch(partition, Position(Offset(offset)), end, settings):
            first = read_header(part.data).base_offset
            return len(part.data), part.next_offset - first
    return 0, 0

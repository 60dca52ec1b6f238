"""A range of one partition as Arrow columns: what a task of Spark calls, with or without rows.

Nothing here knows Spark. A range is fetched from its leader, one request ahead; whole responses
are decoded at once, and come in slices of a size that Spark takes well.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import pyarrow as pa

from odradek.client.blocking.client import BlockingClient
from odradek.client.errors import DataLost, OffsetExpired
from odradek.client.records.aborted import AbortedTransactions
from odradek.client.records.fetching import FetchSettings
from odradek.client.records.offsets import Position
from odradek.model.errors import BrokerError
from odradek.model.ids import NO_TOPIC_ID, topic_id_from_text
from odradek.model.positions import NO_LEADER_EPOCH, LeaderEpoch, Offset
from odradek.model.units import Bytes
from odradek.pipelines.columns import PLAIN
from odradek.pipelines.connections import client_of, told
from odradek.pipelines.decoding.runs import DamagedBatch, Fetched
from odradek.pipelines.decoding.table import TableDecoder
from odradek.pipelines.errors import SKIP_OPTION, CorruptData, DataLoss
from odradek.pipelines.positions import OffsetRange
from odradek.pipelines.source.options import SourceOptions

HINT: Final = f"{SKIP_OPTION} skips such records"

log = logging.getLogger("odradek.pipelines")


class Skipped(NamedTuple):
    """Offsets from `start` on, up to and without `end`, that were not read, and why."""

    start: int
    end: int
    why: str
    is_expired: bool = False  # retention deleted them; else they are damaged, or are others now


def read_batches(
    options: SourceOptions,
    of: OffsetRange,
    columns: Sequence[str] = PLAIN,
    skipped: list[Skipped] | None = None,
) -> Iterator[pa.RecordBatch]:
    """The records of a range in the order of their offsets, as these columns.

    A broker that dies or a leader that moves is followed for `options.client.patience_ms`.
    DataLoss where records are gone, CorruptData for a batch that is damaged; with
    `fail_on_data_loss` false either is skipped, counted, logged, and added to `skipped`.
    """
    reader = _RangeReader(options, of, columns, [] if skipped is None else skipped)
    while reader.position < of.end:
        yield from reader.read_on()
    if reader.count:
        log.warning("%s: %d offsets were skipped", of.topic_partition, reader.count)


class _RangeReader:
    """Reads on until the end or until something is to be skipped."""

    def __init__(
        self,
        options: SourceOptions,
        of: OffsetRange,
        columns: Sequence[str],
        skipped: list[Skipped],
    ) -> None:
        self.position = of.start
        self.count = 0
        self._skipped = skipped
        self._options = options
        self._range = of
        self._epoch = of.leader_epoch
        self._decoder = TableDecoder(of, columns)
        self._client: BlockingClient = client_of(options.client)
        chosen = options.client
        self._settings = FetchSettings(
            Bytes(min(chosen.partition_fetch_bytes_max, chosen.fetch_bytes_max)),
            chosen.fetch_wait_ms_max,
            chosen.committed_only,
            check_crc=False,  # the decoder does, and knows what to skip
            topic_id=topic_id_from_text(of.topic_id) if of.topic_id else NO_TOPIC_ID,
        )

    def read_on(self) -> Iterator[pa.RecordBatch]:
        """What comes from the position on; returns at the end, or behind what was skipped."""
        start = Position(Offset(self.position), LeaderEpoch(self._epoch))
        try:
            for part in self._client.fetch(
                self._range.topic_partition, start, self._range.end, self._settings
            ):
                aborted = AbortedTransactions(part.aborted)
                data, at = received(part.data)
                stop = at + len(part.data)
                fetched = Fetched(data, self.position, self._range.end, aborted, at, stop)
                for run in fetched.runs():
                    yield from self._decoder.decode(run, self.position)
                self.position = part.next_offset
                self._epoch = part.leader_epoch
            self.position = self._range.end
        except DamagedBatch as damage:
            self._skip_damaged(damage)
        except DataLost as lost:
            self._skip_lost(lost)
        except BrokerError as error:
            raise told(error, self._options.client) from error

    def _skip_damaged(self, damage: DamagedBatch) -> None:
        where = f"{self._range.topic_partition}: the batch at offset {damage.offset}"
        if self._options.fail_on_data_loss or damage.next_offset is None:
            raise CorruptData(f"{where} is damaged: {damage}; {HINT}") from damage
        log.warning("%s is damaged and skipped: %s", where, damage)
        self.position = max(self.position, damage.offset)
        self._go_to(damage.next_offset, str(damage))

    def _skip_lost(self, lost: DataLost) -> None:
        if self._options.fail_on_data_loss:
            raise DataLoss(f"{lost}; {HINT}") from lost
        log.warning("records are skipped: %s", lost)
        match lost:
            case OffsetExpired(log_start_offset=offset):
                self._go_to(offset, str(lost), is_expired=True)
            case _:  # other records have these offsets now, or none
                self._go_to(self._range.end, str(lost))

    def _go_to(self, offset: int, why: str, *, is_expired: bool = False) -> None:
        offset = max(self.position, min(offset, self._range.end))
        self.count += offset - self.position
        if offset > self.position:
            self._skipped.append(Skipped(self.position, offset, why, is_expired))
        self.position = offset
        self._epoch = NO_LEADER_EPOCH


def received(view: memoryview) -> tuple[bytes, int]:
    """The bytes that a view lies in, and where in them it begins; a copy only of others."""
    whole = view.obj
    if not isinstance(whole, bytes):
        return bytes(view), 0
    return whole, int(pa.py_buffer(view).address - pa.py_buffer(whole).address)

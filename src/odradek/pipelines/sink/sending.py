"""Rows to topics: each to its partition, in their order, as batches of an idempotent producer.

Rows are gathered before they are sent, so that a batch of a partition is worth its header. A row
without partition goes where Kafka's clients send its key; one without a key to a partition in turn,
many rows at a time.
"""

from collections.abc import Iterable, Mapping
from time import time_ns
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from odradek.client.blocking.producer import BlockingProducerSettings
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import MIB, Bytes
from odradek.pipelines.columns import HEADERS_TYPE
from odradek.pipelines.connections import client_of, told
from odradek.pipelines.encoding.batches import Rows, encode_groups
from odradek.pipelines.encoding.partitioner import partitions
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.sink.options import SinkOptions

GATHERED_BYTES: Final = 4 << 20
SETTINGS: Final = BlockingProducerSettings(buffer_bytes_max=Bytes(8 * MIB))
"""Two full requests may wait for their answers: rows exist three times while they become batches,
and a worker of Spark keeps as much memory as it once had."""
IN_A_ROW: Final = 1_000
"""So many rows without a key go to one partition before the next one's turn comes."""
NANOS: Final = 1_000_000  # of a millisecond


class Producer(Protocol):
    """Takes finished batches."""

    def send(self, partition: TopicPartition, batch: bytearray) -> None:
        """May return before it is acknowledged."""

    def flush(self) -> object:
        """Returns once all is."""


class TopicSender:
    """Sends the rows of one task. Columns are those of the sink, and `timestamp`, if it is there.

    After an error it is of no use, and what was sent stays sent. Without a producer it has one of
    its own; `counts` says how many partitions topics have, where it is not to be asked for.
    """

    def __init__(
        self,
        options: SinkOptions,
        producer: Producer | None = None,
        counts: Mapping[str, int] | None = None,
    ) -> None:
        self._options = options
        self._producer = producer
        self._counts: dict[str, int] = dict(counts or {})
        self._gathered: list[pa.RecordBatch] = []
        self._bytes = 0
        self._turn = 0
        self.rows = 0

    def send(self, batch: pa.RecordBatch) -> None:
        """Takes rows; they are sent when there are enough."""
        self._gathered.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= GATHERED_BYTES:
            self._send_gathered()

    def finish(self) -> int:
        """Returns when all rows are acknowledged: how many there were."""
        self._send_gathered()
        if self._producer is not None:
            try:
                self._producer.flush()
            except BrokerError as error:
                raise told(error, self._options.client) from error
        return self.rows

    def _send_gathered(self) -> None:
        if not self._gathered:
            return
        rows = pa.Table.from_batches(self._gathered).combine_chunks().to_batches()
        self._gathered, self._bytes = [], 0
        try:
            for batch in rows:
                self._send(batch)
        except BrokerError as error:
            raise told(error, self._options.client) from error

    def _send(self, batch: pa.RecordBatch) -> None:
        if self._producer is None:
            self._producer = client_of(self._options.client).producer(SETTINGS)
        if self._options.topic is not None:
            self._send_to(self._options.topic, batch)
        else:
            for topic in pc.unique(batch.column("topic")).to_pylist():
                if topic is None:
                    raise PipelineError("a row has no topic: its column 'topic' is null")
                self._send_to(topic, batch.filter(pc.equal(batch.column("topic"), topic)))
        self.rows += batch.num_rows

    def _send_to(self, topic: str, batch: pa.RecordBatch) -> None:
        """The rows of one topic, partition by partition."""
        assert self._producer is not None
        count = self._partition_count(topic)
        numbers = self._partitions(topic, batch, count)
        if (np.diff(numbers) < 0).any():
            order = np.argsort(numbers, kind="stable")
            batch = batch.take(pa.array(order.astype(np.int32)))
            numbers = numbers[order]
        starts = np.flatnonzero(np.append(True, np.diff(numbers) != 0))
        groups = encode_groups(
            _rows(batch, headers=self._options.headers),
            starts.astype(np.int64),
            self._options.codec,
            self._options.batch_bytes,
        )
        for group, data in groups:
            partition = TopicPartition(topic, int(numbers[starts[group]]))
            self._producer.send(partition, data)

    def _partition_count(self, topic: str) -> int:
        if topic not in self._counts:
            found = client_of(self._options.client).cluster([topic]).topics[topic]
            if found.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise PipelineError(f"topic {topic!r} does not exist")
            self._counts[topic] = len(found.partitions)
        return self._counts[topic]

    def _partitions(self, topic: str, batch: pa.RecordBatch, count: int) -> Any:
        """The partition of each row."""
        if "partition" not in batch.schema.names:
            return self._by_key(batch, count)
        given = batch.column("partition")
        numbers = pc.fill_null(given, -1).to_numpy(zero_copy_only=False)
        known = given.is_valid().to_numpy(zero_copy_only=False)
        wrong = known & ((numbers < 0) | (numbers >= count))
        if wrong.any():
            raise PipelineError(
                f"partition {numbers[wrong][0]} of topic {topic!r} does not exist: "
                f"it has {counted(count, 'partition')}"
            )
        return numbers if known.all() else np.where(known, numbers, self._by_key(batch, count))

    def _by_key(self, batch: pa.RecordBatch, count: int) -> Any:
        turns = (self._turn + np.arange(batch.num_rows)) // IN_A_ROW % count
        self._turn += batch.num_rows
        if "key" not in batch.schema.names or batch.column("key").null_count == batch.num_rows:
            return turns.astype(np.int32)
        keys = batch.column("key").cast(pa.binary())
        valid = keys.is_valid().to_numpy(zero_copy_only=False)
        return np.where(valid, partitions(keys, count), turns).astype(np.int32)


def _rows(batch: pa.RecordBatch, *, headers: bool) -> Rows:
    count, names = batch.num_rows, batch.schema.names
    keys = batch.column("key").cast(pa.binary()) if "key" in names else pa.nulls(count, pa.binary())
    wanted = headers and "headers" in names
    return Rows(
        keys,
        batch.column("value").cast(pa.binary()),
        _times(batch),
        batch.column("headers").cast(HEADERS_TYPE) if wanted else None,
    )


def _times(batch: pa.RecordBatch) -> Any:
    """Milliseconds: what the rows say, else now."""
    now = time_ns() // NANOS
    if "timestamp" not in batch.schema.names:
        return np.full(batch.num_rows, now, np.int64)
    millis = batch.column("timestamp").cast(pa.timestamp("ms", tz="UTC"), safe=False)
    return pc.fill_null(millis.cast(pa.int64()), now).to_numpy(zero_copy_only=False)


def send_all(options: SinkOptions, batches: Iterable[pa.RecordBatch]) -> int:
    """Sends rows and waits until all are acknowledged."""
    sender = TopicSender(options)
    for batch in batches:
        if batch.num_rows:
            sender.send(batch)
    return sender.finish()

"""What a topic lets in: which batches of a producer are taken, and what is done to them first.

A batch is let through as it came, after a look at its header and its checksum. Only where a topic's
settings ask for it are its records looked at: keys that compaction needs, times that must not lie
too far away. And only there is it changed: its time, or how it is compressed.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, Self

from odradek.config.rows import topic as rows
from odradek.config.topic import TopicConfig
from odradek.model.errors import InvalidTimestamp
from odradek.model.units import MIB, Bytes, Millis, Timestamp
from odradek.records.batch import BatchHeader, TimestampType, read_header, restamp
from odradek.records.build import rebuild_batch
from odradek.records.compression import Codec
from odradek.records.record import read_records
from odradek.records.validate import check_produced, check_records
from odradek.storage.settings import FOREVER

UNPACKED_BYTES_MAX: Final = Bytes(16 * MIB)
"""How large the records of one batch may be unpacked, where they are looked at."""
NOT_STAMPED: Final = Timestamp(-1)

_CODECS: Final[Mapping[str, Codec]] = MappingProxyType(
    {
        "uncompressed": Codec.NONE,
        "gzip": Codec.GZIP,
        "snappy": Codec.SNAPPY,
        "lz4": Codec.LZ4,
        "zstd": Codec.ZSTD,
    }
)


class ProduceRules(NamedTuple):
    """The rules of one topic."""

    bytes_max: Bytes
    keyed: bool  # compaction needs a key in every record
    stamped: bool  # the time of a record is the time of its append
    codec: Codec | None  # what records are stored with; None: as they come
    level: int | None
    before_max: Millis | None  # how far back a record's time may lie; None: any time
    after_max: Millis | None  # how far ahead
    deep: bool  # every record is read before it is taken

    @classmethod
    def of(cls, topic: TopicConfig) -> Self:
        """As the topic's settings say."""
        codec = _CODECS.get(topic[rows.COMPRESSION_TYPE])
        before, after = topic.timestamp_before_max, topic.timestamp_after_max
        return cls(
            bytes_max=topic[rows.MAX_MESSAGE_BYTES],
            keyed="compact" in topic[rows.CLEANUP_POLICY],
            stamped=topic[rows.MESSAGE_TIMESTAMP_TYPE] == "LogAppendTime",
            codec=codec,
            level=_level(topic, codec),
            before_max=None if before >= FOREVER else before,
            after_max=None if after >= FOREVER else after,
            deep=topic[rows.MESSAGE_DEEP_VALIDATION_ENABLE],
        )

    def admit(
        self, batch: memoryview, version: int, now: Timestamp
    ) -> tuple[bytearray | memoryview, BatchHeader, Timestamp]:
        """The batch as it is to be appended, its header, and the time it was given, if any."""
        header = check_produced(batch, version=version, bytes_max=self.bytes_max)
        if self.keyed or self.deep or (self.before_max is not None and not self.stamped):
            header = self._look_inside(batch, header, now)
        elif (
            self.after_max is not None
            and not self.stamped  # a time that is going to be replaced may be any
            and header.max_timestamp - now > self.after_max
        ):
            raise InvalidTimestamp(
                f"timestamp {header.max_timestamp} lies more than {self.after_max} ms ahead"
            )
        kept: bytearray | memoryview = batch
        if self.codec is not None and header.codec != self.codec:
            records = list(read_records(batch, header, limit=UNPACKED_BYTES_MAX))
            kept = rebuild_batch(records, header, codec=self.codec, level=self.level)
            header = read_header(kept)
        if not self.stamped:
            return kept, header, NOT_STAMPED
        return kept, restamp(kept, 0, TimestampType.LOG_APPEND_TIME, now), now

    def _look_inside(self, batch: memoryview, header: BatchHeader, now: Timestamp) -> BatchHeader:
        first = -FOREVER if self.before_max is None or self.stamped else now - self.before_max
        last = FOREVER if self.after_max is None or self.stamped else now + self.after_max
        newest = check_records(
            batch,
            header,
            keyed=self.keyed,
            timestamps=(first, last),
            bytes_max=UNPACKED_BYTES_MAX,
        )
        if newest == header.max_timestamp:
            return header
        return restamp(batch, 0, TimestampType.CREATE_TIME, newest)


def _level(topic: TopicConfig, codec: Codec | None) -> int | None:
    match codec:
        case Codec.GZIP:
            return topic[rows.COMPRESSION_GZIP_LEVEL]
        case Codec.LZ4:
            return topic[rows.COMPRESSION_LZ4_LEVEL]
        case Codec.ZSTD:
            return topic[rows.COMPRESSION_ZSTD_LEVEL]
        case _:
            return None

"""The settings of one topic as far as its logs are concerned: values, checked by `config`."""

from dataclasses import dataclass
from typing import Final, Self

from odradek.config.rows import topic as rows
from odradek.config.topic import TopicConfig
from odradek.model.limits import INDEX_BYTES_MAX, INDEX_INTERVAL_BYTES, SEGMENT_BYTES
from odradek.model.units import DAY, Bytes, Millis

FOREVER: Final = Millis((1 << 63) - 1)
WEEK: Final = Millis(7 * DAY)
AT_ONCE: Final = Millis(0)


@dataclass(frozen=True, slots=True)
class LogConfig:
    """Defaults are Kafka's. None: no such bound."""

    segment_bytes: Bytes = SEGMENT_BYTES
    segment_ms: Millis = WEEK
    index_bytes_max: Bytes = INDEX_BYTES_MAX
    index_interval_bytes: Bytes = INDEX_INTERVAL_BYTES
    retention_ms: Millis | None = WEEK
    retention_bytes: Bytes | None = None
    delete: bool = True  # cleanup.policy
    compact: bool = False  # cleanup.policy; both may be
    dirty_ratio_min: float = 0.5
    compaction_lag_ms_min: Millis = AT_ONCE
    compaction_lag_ms_max: Millis = FOREVER
    delete_retention_ms: Millis = DAY
    flush_messages: int | None = None
    flush_ms: Millis | None = None
    flush_before_ack: bool = False
    producer_expiration_ms: Millis = DAY

    @classmethod
    def of(cls, topic: TopicConfig, producer_expiration_ms: Millis = DAY) -> Self:
        """What holds for a topic; how long producers are remembered is the broker's to say."""
        messages, period = topic[rows.FLUSH_MESSAGES], topic[rows.FLUSH_MS]
        policy = topic[rows.CLEANUP_POLICY]
        return cls(
            segment_bytes=topic[rows.SEGMENT_BYTES],
            segment_ms=topic[rows.SEGMENT_MS],
            index_bytes_max=topic[rows.SEGMENT_INDEX_BYTES],
            index_interval_bytes=topic[rows.INDEX_INTERVAL_BYTES],
            retention_ms=topic[rows.RETENTION_MS],
            retention_bytes=topic[rows.RETENTION_BYTES],
            delete="delete" in policy,
            compact="compact" in policy,
            dirty_ratio_min=topic[rows.MIN_CLEANABLE_DIRTY_RATIO],
            compaction_lag_ms_min=topic[rows.MIN_COMPACTION_LAG_MS],
            compaction_lag_ms_max=topic[rows.MAX_COMPACTION_LAG_MS],
            delete_retention_ms=topic[rows.DELETE_RETENTION_MS],
            flush_messages=None if messages == rows.FLUSH_MESSAGES.default else messages,
            flush_ms=None if period == rows.FLUSH_MS.default else period,
            flush_before_ack=topic[rows.FLUSH_BEFORE_ACK],
            producer_expiration_ms=producer_expiration_ms,
        )

"""The settings of one topic as far as its logs are concerned: values, checked by `config`."""

from dataclasses import dataclass
from typing import Final

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

"""Compaction: how much of a log must be dirty, and how hard the cleaner works."""

from typing import Final

from odradek.config.kinds import (
    JAVA_DOUBLE_MAX,
    JAVA_LONG_MAX,
    decimal,
    duration,
    flag,
    number,
    size,
)
from odradek.config.kinds import ConfigType as Type
from odradek.config.setting import BrokerSetting, Mode
from odradek.model.units import DAY, KIB, MIB, SECOND, Bytes, Millis

_KEYS: Final = "a cleaning knows up to 128 MiB of keys; records behind them wait for the next one"
LOG_CLEANER_ENABLE: Final = BrokerSetting(
    "log.cleaner.enable",
    flag(),
    default=True,
    doc="Whether logs are compacted at all. Groups' offsets need it.",
)
LOG_CLEANER_THREADS: Final = BrokerSetting(
    "log.cleaner.threads",
    number(low=0),
    default=1,
    mode=Mode.CLUSTER_WIDE,
    inert="each log directory is cleaned by its own thread",
    doc="Threads that compact logs.",
)
LOG_CLEANER_DEDUPE_BUFFER_SIZE: Final = BrokerSetting(
    "log.cleaner.dedupe.buffer.size",
    size(type=Type.LONG),
    default=Bytes(128 * MIB),
    mode=Mode.CLUSTER_WIDE,
    doc="Memory for the keys that a cleaning keeps in mind, for all cleanings together.",
    inert=_KEYS,
)
LOG_CLEANER_IO_BUFFER_LOAD_FACTOR: Final = BrokerSetting(
    "log.cleaner.io.buffer.load.factor",
    decimal(),
    default=0.9,
    mode=Mode.CLUSTER_WIDE,
    doc="How full that memory may become before a cleaning stops to collect keys.",
    inert=_KEYS,
)
LOG_CLEANER_IO_BUFFER_SIZE: Final = BrokerSetting(
    "log.cleaner.io.buffer.size",
    size(low=0),
    default=Bytes(512 * KIB),
    mode=Mode.CLUSTER_WIDE,
    doc="How much a cleaning reads and writes at a time.",
    inert="a cleaning reads and writes in steps of a fixed size",
)
LOG_CLEANER_IO_MAX_BYTES_PER_SECOND: Final = BrokerSetting(
    "log.cleaner.io.max.bytes.per.second",
    decimal(),
    default=JAVA_DOUBLE_MAX,
    mode=Mode.CLUSTER_WIDE,
    doc="How much all cleanings together may read and write in a second.",
)
LOG_CLEANER_BACKOFF_MS: Final = BrokerSetting(
    "log.cleaner.backoff.ms",
    duration(low=0),
    default=Millis(15 * SECOND),
    mode=Mode.CLUSTER_WIDE,
    doc="How long to rest when nothing needs cleaning.",
)
LOG_CLEANER_MIN_CLEANABLE_RATIO: Final = BrokerSetting(
    "log.cleaner.min.cleanable.ratio",
    decimal(0, 1),
    default=0.5,
    mode=Mode.CLUSTER_WIDE,
    doc="A log is cleaned once this part of it is dirty.",
)
LOG_CLEANER_DELETE_RETENTION_MS: Final = BrokerSetting(
    "log.cleaner.delete.retention.ms",
    duration(low=0),
    default=DAY,
    mode=Mode.CLUSTER_WIDE,
    doc="How long a tombstone remains after it was cleaned, so that readers learn of the deletion.",
)
LOG_CLEANER_MIN_COMPACTION_LAG_MS: Final = BrokerSetting(
    "log.cleaner.min.compaction.lag.ms",
    duration(low=0),
    default=Millis(0),
    mode=Mode.CLUSTER_WIDE,
    doc="Records younger than this are left alone.",
)
LOG_CLEANER_MAX_COMPACTION_LAG_MS: Final = BrokerSetting(
    "log.cleaner.max.compaction.lag.ms",
    duration(low=1),
    default=Millis(JAVA_LONG_MAX),
    mode=Mode.CLUSTER_WIDE,
    doc="Records older than this are cleaned, however little of the log is dirty.",
)

"""Where logs lie, when their segments roll and go, and when they are flushed."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from odradek.config.kinds import (
    JAVA_LONG_MAX,
    duration,
    flag,
    listing,
    never,
    number,
    optional,
    size,
    unlimited,
)
from odradek.config.kinds import ConfigType as Type
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.model.limits import (
    INDEX_BYTES_MAX,
    INDEX_INTERVAL_BYTES,
    SEGMENT_BYTES,
)
from odradek.model.units import DAY, HOUR, MINUTE, SECOND, Millis

NEVER: Final = Millis(JAVA_LONG_MAX)
NOT_TIERED: Final = "there is no tiered storage; all segments lie in the log dirs"
NO_JITTER: Final = "segments are closed at their age, and nothing is taken off it"

_AGE: Final = unlimited(duration(low=1), below=0)
_AGE_MINUTES: Final = unlimited(duration(low=1, type=Type.INT, unit=MINUTE), below=0)

LOG_DIR: Final = BrokerSetting(
    "log.dir",
    optional(listing(type=Type.STRING, allowed="a directory")),
    default=None,
    kafka_default="a directory for temporary files",
    importance=Importance.HIGH,
    doc="Where logs lie, if `log.dirs` is not set. One of the two must be: no log is put where the "
    "system cleans up.",
)
LOG_DIRS: Final = BrokerSetting(
    "log.dirs",
    optional(listing(type=Type.STRING, allowed="a list of directories, separated by commas")),
    default=None,
    importance=Importance.HIGH,
    doc="Where logs lie: one directory on each disk, separated by commas. Each has a thread of its "
    "own, and fails alone.",
)
NUM_RECOVERY_THREADS_PER_DATA_DIR: Final = BrokerSetting(
    "num.recovery.threads.per.data.dir",
    number(low=1),
    default=1,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    inert="each log directory is recovered by its own thread",
    doc="Threads for each directory that check logs after an unclean stop.",
)
LOG_DIR_FAILURE_TIMEOUT_MS: Final = BrokerSetting(
    "log.dir.failure.timeout.ms",
    duration(low=1),
    default=Millis(30 * SECOND),
    importance=Importance.LOW,
    doc="A broker that cannot tell the controller of a failed directory for so long stops, if it "
    "led a partition there.",
    inert="a broker goes on, and tells the controller as soon as it can",
)
LOG_DIR_HANG_TIMEOUT_MS: Final = BrokerSetting(
    "log.dir.hang.timeout.ms",
    duration(low=1),
    default=Millis(60 * SECOND),  # twice what Linux gives one command of a disk, half of a
    # producer's delivery.timeout.ms; a call that a busy disk completes takes a few seconds
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="A log directory whose disk completes no call for so long counts as failed. Until then a "
    "disk that hangs is waited for, and holds up its own partitions.",
)
LOG_SEGMENT_BYTES: Final = BrokerSetting(
    "log.segment.bytes",
    size(low=14),
    default=SEGMENT_BYTES,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="A segment is closed before it would grow past this size.",
)
LOG_ROLL_MS: Final = BrokerSetting(
    "log.roll.ms",
    optional(duration(low=1)),
    default=None,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="A segment is closed at this age, full or not. Comes before `log.roll.hours`.",
)
LOG_ROLL_HOURS: Final = BrokerSetting(
    "log.roll.hours",
    duration(low=1, type=Type.INT, unit=HOUR),
    default=Millis(7 * DAY),
    importance=Importance.HIGH,
    doc="The same in hours.",
)
LOG_ROLL_JITTER_MS: Final = BrokerSetting(
    "log.roll.jitter.ms",
    optional(duration(low=0)),
    default=None,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="Maximum random jitter subtracted from `log.roll.ms`, so that not all segments are closed "
    "together. Comes before `log.roll.jitter.hours`.",
    inert=NO_JITTER,
)
LOG_ROLL_JITTER_HOURS: Final = BrokerSetting(
    "log.roll.jitter.hours",
    duration(low=0, type=Type.INT, unit=HOUR),
    default=Millis(0),
    importance=Importance.HIGH,
    doc="The same in hours.",
    inert=NO_JITTER,
)
LOG_RETENTION_MS: Final = BrokerSetting(
    "log.retention.ms",
    replace(_AGE, may_be_unset=True),
    default=None,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="Segments older than this are deleted. Comes before `log.retention.minutes`, which comes "
    "before `log.retention.hours`.",
)
LOG_RETENTION_MINUTES: Final = BrokerSetting(
    "log.retention.minutes",
    replace(_AGE_MINUTES, may_be_unset=True),
    default=None,
    importance=Importance.HIGH,
    doc="The same in minutes.",
)
LOG_RETENTION_HOURS: Final = BrokerSetting(
    "log.retention.hours",
    unlimited(duration(low=1, type=Type.INT, unit=HOUR), below=0),
    default=Millis(7 * DAY),
    importance=Importance.HIGH,
    doc="The same in hours.",
)
LOG_RETENTION_BYTES: Final = BrokerSetting(
    "log.retention.bytes",
    unlimited(size(low=0, type=Type.LONG), below=0),
    default=None,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="The oldest segments are deleted while a partition is larger than this.",
)
LOG_LOCAL_RETENTION_MS: Final = BrokerSetting(
    "log.local.retention.ms",
    number(low=-2, type=Type.LONG),
    default=-2,
    mode=Mode.CLUSTER_WIDE,
    inert=NOT_TIERED,
    doc="Segments that were copied are deleted here at this age; -2: as `log.retention.ms`.",
)
LOG_LOCAL_RETENTION_BYTES: Final = BrokerSetting(
    "log.local.retention.bytes",
    number(low=-2, type=Type.LONG),
    default=-2,
    mode=Mode.CLUSTER_WIDE,
    inert=NOT_TIERED,
    doc="Those that were copied are deleted here above this size; -2: as `log.retention.bytes`.",
)
REMOTE_LOG_STORAGE_SYSTEM_ENABLE: Final = BrokerSetting(
    "remote.log.storage.system.enable",
    never(NOT_TIERED),
    default=False,
    doc="Whether closed segments may be copied to another storage.",
)
LOG_RETENTION_CHECK_INTERVAL_MS: Final = BrokerSetting(
    "log.retention.check.interval.ms",
    duration(low=1),
    default=Millis(5 * MINUTE),
    doc="How often segments that may go are looked for.",
)
LOG_SEGMENT_DELETE_DELAY_MS: Final = BrokerSetting(
    "log.segment.delete.delay.ms",
    duration(low=0),
    default=Millis(60 * SECOND),
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="How long a deleted segment's file remains, so that those who read it can finish.",
)
LOG_CLEANUP_POLICY: Final = BrokerSetting(
    "log.cleanup.policy",
    listing("compact", "delete"),
    default=("delete",),
    mode=Mode.CLUSTER_WIDE,
    doc="What happens to old segments: `delete` by age and size, `compact` to the last record of "
    "each key, or both.",
)
LOG_INDEX_SIZE_MAX_BYTES: Final = BrokerSetting(
    "log.index.size.max.bytes",
    size(low=4),
    default=INDEX_BYTES_MAX,
    mode=Mode.CLUSTER_WIDE,
    doc="A segment is closed when its offset index reaches this size.",
)
LOG_INDEX_INTERVAL_BYTES: Final = BrokerSetting(
    "log.index.interval.bytes",
    size(low=0),
    default=INDEX_INTERVAL_BYTES,
    mode=Mode.CLUSTER_WIDE,
    doc="An entry is added to the indexes each time so much was written.",
)
LOG_FLUSH_INTERVAL_MESSAGES: Final = BrokerSetting(
    "log.flush.interval.messages",
    number(low=1, type=Type.LONG),
    default=JAVA_LONG_MAX,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="A log is flushed to its disk after so many records.",
)
LOG_FLUSH_INTERVAL_MS: Final = BrokerSetting(
    "log.flush.interval.ms",
    optional(duration(low=0)),
    default=None,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="A log is flushed after so long. By default as `log.flush.scheduler.interval.ms`.",
)
LOG_FLUSH_SCHEDULER_INTERVAL_MS: Final = BrokerSetting(
    "log.flush.scheduler.interval.ms",
    duration(low=1),
    default=NEVER,
    importance=Importance.HIGH,
    doc="How often logs that should be flushed are looked for.",
)
LOG_FLUSH_BEFORE_ACK: Final = BrokerSetting(
    "log.flush.before.ack",
    flag(),
    default=False,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="Whether records are on the disk before they count as written, so that not even the loss "
    "of power everywhere at once takes an acknowledged one. What is appended during a flush "
    "shares the next one.",
)
LOG_FLUSH_BEFORE_ACK_LINGER_MS: Final = BrokerSetting(
    "log.flush.before.ack.linger.ms",
    duration(low=0, high=1000, type=Type.INT),
    default=Millis(0),
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="How long a flush before acknowledgements waits for more appends to share it. With 0 a "
    "flush takes what came while the one before it ran.",
)
LOG_FLUSH_OFFSET_CHECKPOINT_INTERVAL_MS: Final = BrokerSetting(
    "log.flush.offset.checkpoint.interval.ms",
    duration(low=0, type=Type.INT),
    default=Millis(60 * SECOND),
    importance=Importance.HIGH,
    doc="How often it is noted how far the logs are flushed.",
)
LOG_FLUSH_START_OFFSET_CHECKPOINT_INTERVAL_MS: Final = BrokerSetting(
    "log.flush.start.offset.checkpoint.interval.ms",
    duration(low=0, type=Type.INT),
    default=Millis(60 * SECOND),
    importance=Importance.HIGH,
    doc="How often it is noted where the logs begin.",
)
LOG_PREALLOCATE: Final = BrokerSetting(
    "log.preallocate",
    flag(),
    default=False,
    mode=Mode.CLUSTER_WIDE,
    doc="Whether a new segment takes its whole size on the disk at once.",
    inert="space is taken as it is written",
)
ROLL_TIME: Final = (LOG_ROLL_MS, LOG_ROLL_HOURS)
ROLL_JITTER: Final = (LOG_ROLL_JITTER_MS, LOG_ROLL_JITTER_HOURS)
RETENTION_TIME: Final = (LOG_RETENTION_MS, LOG_RETENTION_MINUTES, LOG_RETENTION_HOURS)
FLUSH_TIME: Final = (LOG_FLUSH_INTERVAL_MS, LOG_FLUSH_SCHEDULER_INTERVAL_MS)

SYNONYMS: Final[Mapping[BrokerSetting[Any], tuple[BrokerSetting[Any], ...]]] = MappingProxyType(
    {
        **dict.fromkeys(ROLL_TIME, ROLL_TIME),
        **dict.fromkeys(ROLL_JITTER, ROLL_JITTER),
        **dict.fromkeys(RETENTION_TIME, RETENTION_TIME),
        LOG_FLUSH_INTERVAL_MS: FLUSH_TIME,
    }
)
"""Settings that say the same in several ways, the one that counts first."""
SAID_TWICE: Final[Mapping[BrokerSetting[Any], tuple[BrokerSetting[Any], ...]]] = MappingProxyType(
    {**SYNONYMS, LOG_DIR: (LOG_DIRS, LOG_DIR)}
)
"""Likewise, with those that Kafka's tools do not tell as synonyms."""

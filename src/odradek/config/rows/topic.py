"""What a topic may set for itself; where it is silent, the broker's settings speak."""

from typing import Final

from odradek.config.kinds import (
    JAVA_LONG_MAX,
    choice,
    decimal,
    duration,
    flag,
    listing,
    never,
    number,
    size,
    unlimited,
)
from odradek.config.kinds import ConfigType as Type
from odradek.config.rows import cleaner, log, messages
from odradek.config.setting import Importance, TopicSetting
from odradek.config.versions import kafka_version
from odradek.model import limits
from odradek.model.units import DAY, SECOND, Millis

_THROTTLED: Final = listing(
    pattern=r"\*|[0-9]{1,9}:[0-9]{1,9}",
    allowed="*, or a list of partition:broker, separated by commas",
)

SEGMENT_BYTES: Final = TopicSetting(
    "segment.bytes",
    size(low=14),
    default=limits.SEGMENT_BYTES,
    inherits=(log.LOG_SEGMENT_BYTES,),
    doc=log.LOG_SEGMENT_BYTES.doc,
)
SEGMENT_MS: Final = TopicSetting(
    "segment.ms",
    duration(low=1),
    default=Millis(7 * DAY),
    inherits=log.ROLL_TIME,
    doc="A segment is closed at this age, full or not.",
)
SEGMENT_JITTER_MS: Final = TopicSetting(
    "segment.jitter.ms",
    duration(low=0),
    default=Millis(0),
    inherits=log.ROLL_JITTER,
    doc="Maximum random jitter subtracted from `segment.ms`, so that not all segments are closed "
    "together.",
    inert=log.NO_JITTER,
)
SEGMENT_INDEX_BYTES: Final = TopicSetting(
    "segment.index.bytes",
    size(low=4),
    default=limits.INDEX_BYTES_MAX,
    inherits=(log.LOG_INDEX_SIZE_MAX_BYTES,),
    doc=log.LOG_INDEX_SIZE_MAX_BYTES.doc,
)
INDEX_INTERVAL_BYTES: Final = TopicSetting(
    "index.interval.bytes",
    size(low=0),
    default=limits.INDEX_INTERVAL_BYTES,
    inherits=(log.LOG_INDEX_INTERVAL_BYTES,),
    doc=log.LOG_INDEX_INTERVAL_BYTES.doc,
)
FLUSH_MESSAGES: Final = TopicSetting(
    "flush.messages",
    number(low=1, type=Type.LONG),
    default=JAVA_LONG_MAX,
    inherits=(log.LOG_FLUSH_INTERVAL_MESSAGES,),
    doc=log.LOG_FLUSH_INTERVAL_MESSAGES.doc,
)
FLUSH_MS: Final = TopicSetting(
    "flush.ms",
    duration(low=0),
    default=log.NEVER,
    inherits=log.FLUSH_TIME,
    doc="A log is flushed after so long.",
)
FLUSH_BEFORE_ACK: Final = TopicSetting(
    "flush.before.ack",
    flag(),
    default=False,
    inherits=(log.LOG_FLUSH_BEFORE_ACK,),
    ours=True,
    doc=log.LOG_FLUSH_BEFORE_ACK.doc,
)
RETENTION_MS: Final = TopicSetting(
    "retention.ms",
    unlimited(duration(low=0)),
    default=Millis(7 * DAY),
    inherits=log.RETENTION_TIME,
    doc="Segments older than this are deleted.",
)
RETENTION_BYTES: Final = TopicSetting(
    "retention.bytes",
    unlimited(size(low=0, type=Type.LONG), below=0),
    default=None,
    inherits=(log.LOG_RETENTION_BYTES,),
    doc=log.LOG_RETENTION_BYTES.doc,
)
FILE_DELETE_DELAY_MS: Final = TopicSetting(
    "file.delete.delay.ms",
    duration(low=0),
    default=Millis(60 * SECOND),
    inherits=(log.LOG_SEGMENT_DELETE_DELAY_MS,),
    inert="files that are being read stay until they were; deleted topics go as the broker says",
    doc=log.LOG_SEGMENT_DELETE_DELAY_MS.doc,
)
CLEANUP_POLICY: Final = TopicSetting(
    "cleanup.policy",
    listing("compact", "delete"),
    default=("delete",),
    inherits=(log.LOG_CLEANUP_POLICY,),
    doc=log.LOG_CLEANUP_POLICY.doc,
)
DELETE_RETENTION_MS: Final = TopicSetting(
    "delete.retention.ms",
    duration(low=0),
    default=DAY,
    inherits=(cleaner.LOG_CLEANER_DELETE_RETENTION_MS,),
    doc=cleaner.LOG_CLEANER_DELETE_RETENTION_MS.doc,
)
MIN_COMPACTION_LAG_MS: Final = TopicSetting(
    "min.compaction.lag.ms",
    duration(low=0),
    default=Millis(0),
    inherits=(cleaner.LOG_CLEANER_MIN_COMPACTION_LAG_MS,),
    doc=cleaner.LOG_CLEANER_MIN_COMPACTION_LAG_MS.doc,
)
MAX_COMPACTION_LAG_MS: Final = TopicSetting(
    "max.compaction.lag.ms",
    duration(low=1),
    default=log.NEVER,
    inherits=(cleaner.LOG_CLEANER_MAX_COMPACTION_LAG_MS,),
    doc=cleaner.LOG_CLEANER_MAX_COMPACTION_LAG_MS.doc,
)
MIN_CLEANABLE_DIRTY_RATIO: Final = TopicSetting(
    "min.cleanable.dirty.ratio",
    decimal(0, 1),
    default=0.5,
    inherits=(cleaner.LOG_CLEANER_MIN_CLEANABLE_RATIO,),
    doc=cleaner.LOG_CLEANER_MIN_CLEANABLE_RATIO.doc,
)
MAX_MESSAGE_BYTES: Final = TopicSetting(
    "max.message.bytes",
    size(low=0),
    default=limits.BATCH_BYTES_MAX,
    inherits=(messages.MESSAGE_MAX_BYTES,),
    doc=messages.MESSAGE_MAX_BYTES.doc,
)
MIN_INSYNC_REPLICAS: Final = TopicSetting(
    "min.insync.replicas",
    number(low=1),
    default=1,
    inherits=(messages.MIN_INSYNC_REPLICAS,),
    doc=messages.MIN_INSYNC_REPLICAS.doc,
)
UNCLEAN_LEADER_ELECTION_ENABLE: Final = TopicSetting(
    "unclean.leader.election.enable",
    flag(),
    default=False,
    inherits=(messages.UNCLEAN_LEADER_ELECTION_ENABLE,),
    doc=messages.UNCLEAN_LEADER_ELECTION_ENABLE.doc,
)
COMPRESSION_TYPE: Final = TopicSetting(
    "compression.type",
    choice("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    default="producer",
    inherits=(messages.COMPRESSION_TYPE,),
    doc=messages.COMPRESSION_TYPE.doc,
)
COMPRESSION_GZIP_LEVEL: Final = TopicSetting(
    "compression.gzip.level",
    number(low=1, high=9, also=-1),
    default=-1,
    inherits=(messages.COMPRESSION_GZIP_LEVEL,),
    doc=messages.COMPRESSION_GZIP_LEVEL.doc,
)
COMPRESSION_LZ4_LEVEL: Final = TopicSetting(
    "compression.lz4.level",
    number(low=1, high=17),
    default=9,
    inherits=(messages.COMPRESSION_LZ4_LEVEL,),
    doc=messages.COMPRESSION_LZ4_LEVEL.doc,
)
COMPRESSION_ZSTD_LEVEL: Final = TopicSetting(
    "compression.zstd.level",
    number(low=-131072, high=22),
    default=3,
    inherits=(messages.COMPRESSION_ZSTD_LEVEL,),
    doc=messages.COMPRESSION_ZSTD_LEVEL.doc,
)
PREALLOCATE: Final = TopicSetting(
    "preallocate",
    flag(),
    default=False,
    inherits=(log.LOG_PREALLOCATE,),
    inert=log.LOG_PREALLOCATE.inert,
    doc=log.LOG_PREALLOCATE.doc,
)
MESSAGE_TIMESTAMP_TYPE: Final = TopicSetting(
    "message.timestamp.type",
    choice("CreateTime", "LogAppendTime"),
    default="CreateTime",
    inherits=(messages.LOG_MESSAGE_TIMESTAMP_TYPE,),
    doc=messages.LOG_MESSAGE_TIMESTAMP_TYPE.doc,
)
MESSAGE_TIMESTAMP_BEFORE_MAX_MS: Final = TopicSetting(
    "message.timestamp.before.max.ms",
    duration(low=0),
    default=log.NEVER,
    inherits=(messages.LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS,),
    doc=messages.LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS.doc,
)
MESSAGE_TIMESTAMP_AFTER_MAX_MS: Final = TopicSetting(
    "message.timestamp.after.max.ms",
    duration(low=0),
    default=log.NEVER,
    inherits=(messages.LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS,),
    doc=messages.LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS.doc,
)
MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS: Final = TopicSetting(
    "message.timestamp.difference.max.ms",
    duration(low=0),
    default=log.NEVER,
    inherits=(messages.LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS,),
    doc=messages.LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS.doc,
)
MESSAGE_DEEP_VALIDATION_ENABLE: Final = TopicSetting(
    "message.deep.validation.enable",
    flag(),
    default=False,
    importance=Importance.LOW,
    inherits=(messages.LOG_MESSAGE_DEEP_VALIDATION_ENABLE,),
    ours=True,
    doc=messages.LOG_MESSAGE_DEEP_VALIDATION_ENABLE.doc,
)
MESSAGE_DOWNCONVERSION_ENABLE: Final = TopicSetting(
    "message.downconversion.enable",
    flag(),
    default=True,
    importance=Importance.LOW,
    inherits=(messages.LOG_MESSAGE_DOWNCONVERSION_ENABLE,),
    inert=messages.LOG_MESSAGE_DOWNCONVERSION_ENABLE.inert,
    doc=messages.LOG_MESSAGE_DOWNCONVERSION_ENABLE.doc,
)
MESSAGE_FORMAT_VERSION: Final = TopicSetting(
    "message.format.version",
    kafka_version("3.0"),
    default="3.0-IV1",
    inherits=(messages.LOG_MESSAGE_FORMAT_VERSION,),
    inert=messages.LOG_MESSAGE_FORMAT_VERSION.inert,
    doc=messages.LOG_MESSAGE_FORMAT_VERSION.doc,
)
LEADER_REPLICATION_THROTTLED_REPLICAS: Final = TopicSetting(
    "leader.replication.throttled.replicas",
    _THROTTLED,
    default=(),
    doc="For which replicas `leader.replication.throttled.rate` holds.",
)
FOLLOWER_REPLICATION_THROTTLED_REPLICAS: Final = TopicSetting(
    "follower.replication.throttled.replicas",
    _THROTTLED,
    default=(),
    doc="For which replicas `follower.replication.throttled.rate` holds.",
)
REMOTE_STORAGE_ENABLE: Final = TopicSetting(
    "remote.storage.enable",
    never(log.NOT_TIERED),
    default=False,
    doc="Whether closed segments are copied to another storage.",
)
REMOTE_LOG_COPY_DISABLE: Final = TopicSetting(
    "remote.log.copy.disable",
    flag(),
    default=False,
    inert=log.NOT_TIERED,
    doc="Whether nothing more is copied there.",
)
REMOTE_LOG_DELETE_ON_DISABLE: Final = TopicSetting(
    "remote.log.delete.on.disable",
    flag(),
    default=False,
    inert=log.NOT_TIERED,
    doc="Whether what was copied is deleted when `remote.storage.enable` is taken back.",
)
LOCAL_RETENTION_MS: Final = TopicSetting(
    "local.retention.ms",
    number(low=-2, type=Type.LONG),
    default=-2,
    inherits=(log.LOG_LOCAL_RETENTION_MS,),
    inert=log.NOT_TIERED,
    doc=log.LOG_LOCAL_RETENTION_MS.doc,
)
LOCAL_RETENTION_BYTES: Final = TopicSetting(
    "local.retention.bytes",
    number(low=-2, type=Type.LONG),
    default=-2,
    inherits=(log.LOG_LOCAL_RETENTION_BYTES,),
    inert=log.NOT_TIERED,
    doc=log.LOG_LOCAL_RETENTION_BYTES.doc,
)

"""What a log takes in: sizes, formats, timestamps, and how many replicas must have it."""

from typing import Final

from odradek.config.kinds import choice, duration, flag, number, size
from odradek.config.rows.log import NEVER
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.config.versions import kafka_version
from odradek.model.limits import BATCH_BYTES_MAX

MESSAGE_MAX_BYTES: Final = BrokerSetting(
    "message.max.bytes",
    size(low=0),
    default=BATCH_BYTES_MAX,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="The largest batch of records that is taken, compressed as it comes.",
)
MIN_INSYNC_REPLICAS: Final = BrokerSetting(
    "min.insync.replicas",
    number(low=1),
    default=1,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="With acks=all nothing is written unless so many replicas are in sync.",
)
UNCLEAN_LEADER_ELECTION_ENABLE: Final = BrokerSetting(
    "unclean.leader.election.enable",
    flag(),
    default=False,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="Whether a replica that was not in sync may lead if no other lives. Acknowledged records "
    "can be lost by it.",
)
COMPRESSION_TYPE: Final = BrokerSetting(
    "compression.type",
    choice("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
    default="producer",
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="How batches are compressed in the log; `producer` leaves them as they come.",
)
COMPRESSION_GZIP_LEVEL: Final = BrokerSetting(
    "compression.gzip.level",
    number(low=1, high=9, also=-1),
    default=-1,
    mode=Mode.CLUSTER_WIDE,
    doc="How hard gzip tries, if `compression.type` is gzip.",
)
COMPRESSION_LZ4_LEVEL: Final = BrokerSetting(
    "compression.lz4.level",
    number(low=1, high=17),
    default=9,
    mode=Mode.CLUSTER_WIDE,
    doc="How hard lz4 tries, if `compression.type` is lz4.",
)
COMPRESSION_ZSTD_LEVEL: Final = BrokerSetting(
    "compression.zstd.level",
    number(low=-131072, high=22),
    default=3,
    mode=Mode.CLUSTER_WIDE,
    doc="How hard zstd tries, if `compression.type` is zstd.",
)
LOG_MESSAGE_TIMESTAMP_TYPE: Final = BrokerSetting(
    "log.message.timestamp.type",
    choice("CreateTime", "LogAppendTime"),
    default="CreateTime",
    mode=Mode.CLUSTER_WIDE,
    doc="Whether a record bears the time that its producer gave it, or when it was appended.",
)
LOG_MESSAGE_TIMESTAMP_BEFORE_MAX_MS: Final = BrokerSetting(
    "log.message.timestamp.before.max.ms",
    duration(low=0),
    default=NEVER,
    mode=Mode.CLUSTER_WIDE,
    doc="Records whose time lies further back than this are refused.",
)
LOG_MESSAGE_TIMESTAMP_AFTER_MAX_MS: Final = BrokerSetting(
    "log.message.timestamp.after.max.ms",
    duration(low=0),
    default=NEVER,
    mode=Mode.CLUSTER_WIDE,
    doc="Records whose time lies further ahead than this are refused.",
)
LOG_MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS: Final = BrokerSetting(
    "log.message.timestamp.difference.max.ms",
    duration(low=0),
    default=NEVER,
    mode=Mode.CLUSTER_WIDE,
    doc="Both limits at once, where they are not set themselves. Kafka has deprecated it.",
)
LOG_MESSAGE_DEEP_VALIDATION_ENABLE: Final = BrokerSetting(
    "log.message.deep.validation.enable",
    flag(),
    default=False,
    importance=Importance.LOW,
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="Whether each record of a batch is checked before it is written. By default only batches "
    "whose topic needs it are opened: headers and checksums are always checked.",
)
LOG_MESSAGE_DOWNCONVERSION_ENABLE: Final = BrokerSetting(
    "log.message.downconversion.enable",
    flag(),
    default=True,
    importance=Importance.LOW,
    mode=Mode.CLUSTER_WIDE,
    inert="consumers must understand record batches, as those since Kafka 0.11 do",
    doc="Whether records are rewritten for very old consumers.",
)
LOG_MESSAGE_FORMAT_VERSION: Final = BrokerSetting(
    "log.message.format.version",
    kafka_version("3.0"),
    default="3.0-IV1",
    mode=Mode.READ_ONLY,
    inert="records are always written as batches of format 2",
    doc="The format of records in the log.",
)

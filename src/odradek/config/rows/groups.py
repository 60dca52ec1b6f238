"""Consumer groups and their committed offsets."""

from typing import Final

from odradek.config.kinds import ConfigType as Type
from odradek.config.kinds import duration, number, size
from odradek.config.setting import BrokerSetting, Importance
from odradek.model.units import DAY, KIB, MIB, MINUTE, SECOND, Bytes, Millis

INT_MAX: Final = (1 << 31) - 1

GROUP_MIN_SESSION_TIMEOUT_MS: Final = BrokerSetting(
    "group.min.session.timeout.ms",
    duration(low=0, type=Type.INT),
    default=Millis(6 * SECOND),
    doc="Smallest `session.timeout.ms` that a consumer may request.",
)
GROUP_MAX_SESSION_TIMEOUT_MS: Final = BrokerSetting(
    "group.max.session.timeout.ms",
    duration(low=0, type=Type.INT),
    default=Millis(30 * MINUTE),
    doc="The longest such time.",
)
GROUP_INITIAL_REBALANCE_DELAY_MS: Final = BrokerSetting(
    "group.initial.rebalance.delay.ms",
    duration(low=0, type=Type.INT),
    default=Millis(3 * SECOND),
    doc="How long an empty group waits for more members before it shares out partitions.",
)
GROUP_MAX_SIZE: Final = BrokerSetting(
    "group.max.size",
    number(low=1),
    default=INT_MAX,
    doc="Members that one group may have.",
)
OFFSET_METADATA_MAX_BYTES: Final = BrokerSetting(
    "offset.metadata.max.bytes",
    size(low=0),
    default=Bytes(4 * KIB),
    importance=Importance.HIGH,
    doc="The longest note that may be committed with an offset.",
)
OFFSETS_LOAD_BUFFER_SIZE: Final = BrokerSetting(
    "offsets.load.buffer.size",
    size(low=1),
    default=Bytes(5 * MIB),
    importance=Importance.HIGH,
    doc="How much is read at a time when a coordinator loads its groups.",
    inert="groups are read in pieces of a fixed size",
)
OFFSETS_TOPIC_REPLICATION_FACTOR: Final = BrokerSetting(
    "offsets.topic.replication.factor",
    number(low=1, type=Type.SHORT),
    default=3,
    importance=Importance.HIGH,
    doc="Replicas of `__consumer_offsets`. It is not created before so many brokers live. "
    "Where the broker runs its own ZooKeeper and nothing is said here, one is enough.",
)
OFFSETS_TOPIC_NUM_PARTITIONS: Final = BrokerSetting(
    "offsets.topic.num.partitions",
    number(low=1),
    default=50,
    importance=Importance.HIGH,
    doc="Partitions of `__consumer_offsets`. It must not change once the topic exists.",
)
OFFSETS_TOPIC_SEGMENT_BYTES: Final = BrokerSetting(
    "offsets.topic.segment.bytes",
    size(low=1),
    default=Bytes(100 * MIB),
    importance=Importance.HIGH,
    doc="Segments of `__consumer_offsets` are small, so that they are compacted and loaded soon.",
)
OFFSETS_TOPIC_COMPRESSION_CODEC: Final = BrokerSetting(
    "offsets.topic.compression.codec",
    number(low=0, high=4),
    default=0,
    importance=Importance.HIGH,
    doc="How commits are compressed: 0 not at all, 1 gzip, 2 snappy, 3 lz4, 4 zstd.",
)
OFFSETS_RETENTION_MINUTES: Final = BrokerSetting(
    "offsets.retention.minutes",
    duration(low=1, type=Type.INT, unit=MINUTE),
    default=Millis(7 * DAY),
    importance=Importance.HIGH,
    doc="How long offsets are kept after their group has lost its last member.",
)
OFFSETS_RETENTION_CHECK_INTERVAL_MS: Final = BrokerSetting(
    "offsets.retention.check.interval.ms",
    duration(low=1),
    default=Millis(10 * MINUTE),
    importance=Importance.HIGH,
    doc="How often offsets that may go are looked for.",
)
OFFSETS_COMMIT_TIMEOUT_MS: Final = BrokerSetting(
    "offsets.commit.timeout.ms",
    duration(low=1, type=Type.INT),
    default=Millis(5 * SECOND),
    importance=Importance.HIGH,
    doc="How long a commit waits for the replicas.",
)
OFFSETS_COMMIT_REQUIRED_ACKS: Final = BrokerSetting(
    "offsets.commit.required.acks",
    number(low=-1, high=1, type=Type.SHORT),
    default=-1,
    importance=Importance.HIGH,
    inert="a commit is always answered after all replicas in sync have it",
    doc="Which replicas must have a commit before it is answered.",
)

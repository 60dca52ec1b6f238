"""Followers, the in-sync set, and how fast replicas may move."""

from typing import Final

from odradek.config.kinds import (
    JAVA_LONG_MAX,
    duration,
    flag,
    number,
    optional,
    size,
    string,
    unlimited,
)
from odradek.config.kinds import ConfigType as Type
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.model.units import KIB, MIB, MINUTE, SECOND, Bytes, Millis

REPLICA_LAG_TIME_MAX_MS: Final = BrokerSetting(
    "replica.lag.time.max.ms",
    duration(low=1),
    default=Millis(30 * SECOND),
    importance=Importance.HIGH,
    doc="A follower that did not reach its leader's end for so long leaves the in-sync set.",
)
REPLICA_FETCH_MAX_BYTES: Final = BrokerSetting(
    "replica.fetch.max.bytes",
    size(low=0),
    default=MIB,
    doc="How much of one partition a follower fetches at a time; within a throttle no more than it "
    "lets through in a second. A larger batch is fetched, too.",
)
REPLICA_FETCH_RESPONSE_MAX_BYTES: Final = BrokerSetting(
    "replica.fetch.response.max.bytes",
    size(low=0),
    default=Bytes(10 * MIB),
    doc="How much a follower fetches at a time altogether.",
)
REPLICA_FETCH_WAIT_MAX_MS: Final = BrokerSetting(
    "replica.fetch.wait.max.ms",
    duration(low=0, type=Type.INT),
    default=Millis(500),
    importance=Importance.HIGH,
    doc="How long a leader holds a follower's fetch back while there is nothing new.",
)
REPLICA_FETCH_MIN_BYTES: Final = BrokerSetting(
    "replica.fetch.min.bytes",
    size(low=0),
    default=Bytes(1),
    importance=Importance.HIGH,
    doc="How much must be new for a leader to answer before that time.",
)
REPLICA_FETCH_BACKOFF_MS: Final = BrokerSetting(
    "replica.fetch.backoff.ms",
    duration(low=0, type=Type.INT),
    default=Millis(1 * SECOND),
    doc="How long a follower rests a partition whose fetch failed.",
)
REPLICA_SOCKET_TIMEOUT_MS: Final = BrokerSetting(
    "replica.socket.timeout.ms",
    duration(low=1, type=Type.INT),
    default=Millis(30 * SECOND),
    importance=Importance.HIGH,
    doc="How long a follower waits for its leader's answer.",
)
REPLICA_SOCKET_RECEIVE_BUFFER_BYTES: Final = BrokerSetting(
    "replica.socket.receive.buffer.bytes",
    unlimited(size(low=1)),
    default=Bytes(64 * KIB),
    importance=Importance.HIGH,
    doc="The kernel's buffer for what a follower fetches; -1 leaves it to the kernel.",
    inert="the kernel sizes it",
)
NUM_REPLICA_FETCHERS: Final = BrokerSetting(
    "num.replica.fetchers",
    number(low=1),
    default=1,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    doc="Connections over which a follower fetches from each leading broker.",
    inert="a follower fetches from each leading broker over one connection",
)
REPLICA_HIGH_WATERMARK_CHECKPOINT_INTERVAL_MS: Final = BrokerSetting(
    "replica.high.watermark.checkpoint.interval.ms",
    duration(low=1),
    default=Millis(5 * SECOND),
    importance=Importance.HIGH,
    doc="How often the high watermarks are written down.",
)
REPLICA_SELECTOR_CLASS: Final = BrokerSetting(
    "replica.selector.class",
    optional(string()),
    default=None,
    doc="How the replica is found that a consumer should read from. The only one here is Kafka's "
    "`org.apache.kafka.common.replica.RackAwareReplicaSelector`: one in the consumer's own rack.",
)
LEADER_REPLICATION_THROTTLED_RATE: Final = BrokerSetting(
    "leader.replication.throttled.rate",
    size(low=0, type=Type.LONG),
    default=Bytes(JAVA_LONG_MAX),
    mode=Mode.CLUSTER_WIDE,
    doc="Bytes in a second that a leader sends for throttled replicas.",
)
FOLLOWER_REPLICATION_THROTTLED_RATE: Final = BrokerSetting(
    "follower.replication.throttled.rate",
    size(low=0, type=Type.LONG),
    default=Bytes(JAVA_LONG_MAX),
    mode=Mode.CLUSTER_WIDE,
    doc="Bytes in a second that a follower fetches for throttled replicas.",
)
REPLICA_ALTER_LOG_DIRS_IO_MAX_BYTES_PER_SECOND: Final = BrokerSetting(
    "replica.alter.log.dirs.io.max.bytes.per.second",
    size(low=0, type=Type.LONG),
    default=Bytes(JAVA_LONG_MAX),
    mode=Mode.CLUSTER_WIDE,
    doc="Bytes in a second that are copied when replicas move between log directories.",
)
NUM_REPLICA_ALTER_LOG_DIRS_THREADS: Final = BrokerSetting(
    "num.replica.alter.log.dirs.threads",
    optional(number(low=1)),
    default=None,
    importance=Importance.HIGH,
    inert="a move is done by the threads of the two log directories",
    doc="Threads that move replicas between log directories.",
)
FETCH_PURGATORY_PURGE_INTERVAL_REQUESTS: Final = BrokerSetting(
    "fetch.purgatory.purge.interval.requests",
    number(),
    default=1000,
    inert="waiting requests are found by the offset they wait for; none has to be purged",
    doc="Purge the waiting fetches each time so many were answered.",
)
PRODUCER_PURGATORY_PURGE_INTERVAL_REQUESTS: Final = BrokerSetting(
    "producer.purgatory.purge.interval.requests",
    number(),
    default=1000,
    inert="waiting requests are found by the offset they wait for; none has to be purged",
    doc="Purge the waiting producers each time so many were answered.",
)
DELETE_RECORDS_PURGATORY_PURGE_INTERVAL_REQUESTS: Final = BrokerSetting(
    "delete.records.purgatory.purge.interval.requests",
    number(),
    default=1,
    inert="waiting requests are found by the offset they wait for; none has to be purged",
    doc="Purge the waiting deletions of records each time so many were answered.",
)
AUTO_LEADER_REBALANCE_ENABLE: Final = BrokerSetting(
    "auto.leader.rebalance.enable",
    flag(),
    default=True,
    importance=Importance.HIGH,
    doc="Whether leaderships return to the preferred leaders by themselves.",
)
LEADER_IMBALANCE_PER_BROKER_PERCENTAGE: Final = BrokerSetting(
    "leader.imbalance.per.broker.percentage",
    number(low=0),
    default=10,
    importance=Importance.HIGH,
    doc="They do when more than this share of a broker's preferred leaderships is elsewhere.",
)
LEADER_IMBALANCE_CHECK_INTERVAL_SECONDS: Final = BrokerSetting(
    "leader.imbalance.check.interval.seconds",
    duration(low=1, unit=SECOND),
    default=Millis(5 * MINUTE),
    importance=Importance.HIGH,
    doc="How often the controller looks.",
)
UNCLEAN_LEADER_ELECTION_INTERVAL_MS: Final = BrokerSetting(
    "unclean.leader.election.interval.ms",
    duration(low=1),
    default=Millis(5 * MINUTE),
    doc="How often the controller looks for partitions that only an unclean election can help.",
    inert="such a partition is looked at when a broker or a setting changes",
)

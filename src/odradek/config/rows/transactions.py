"""Producers that count their batches, and those that write several partitions as one."""

from typing import Final

from odradek.config.kinds import ConfigType as Type
from odradek.config.kinds import duration, flag, number, size
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.model.units import DAY, HOUR, MIB, MINUTE, SECOND, Bytes, Millis

FIXED: Final = "transactions are read in pieces of a fixed size"

TRANSACTION_MAX_TIMEOUT_MS: Final = BrokerSetting(
    "transaction.max.timeout.ms",
    duration(low=1, type=Type.INT),
    default=Millis(15 * MINUTE),
    importance=Importance.HIGH,
    doc="The longest time that a producer may ask for before its transaction is aborted.",
)
TRANSACTIONAL_ID_EXPIRATION_MS: Final = BrokerSetting(
    "transactional.id.expiration.ms",
    duration(low=1, type=Type.INT),
    default=Millis(7 * DAY),
    importance=Importance.HIGH,
    doc="How long a transactional id is remembered after its last transaction.",
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR: Final = BrokerSetting(
    "transaction.state.log.replication.factor",
    number(low=1, type=Type.SHORT),
    default=3,
    importance=Importance.HIGH,
    doc="Replicas of `__transaction_state`. It is not created before so many brokers live.",
)
TRANSACTION_STATE_LOG_MIN_ISR: Final = BrokerSetting(
    "transaction.state.log.min.isr",
    number(low=1),
    default=2,
    importance=Importance.HIGH,
    doc="`min.insync.replicas` of `__transaction_state`.",
)
TRANSACTION_STATE_LOG_NUM_PARTITIONS: Final = BrokerSetting(
    "transaction.state.log.num.partitions",
    number(low=1),
    default=50,
    importance=Importance.HIGH,
    doc="Partitions of `__transaction_state`. It must not change once the topic exists.",
)
TRANSACTION_STATE_LOG_SEGMENT_BYTES: Final = BrokerSetting(
    "transaction.state.log.segment.bytes",
    size(low=1),
    default=Bytes(100 * MIB),
    importance=Importance.HIGH,
    doc="Segments of `__transaction_state` are small, so that they are compacted and loaded soon.",
)
TRANSACTION_STATE_LOG_LOAD_BUFFER_SIZE: Final = BrokerSetting(
    "transaction.state.log.load.buffer.size",
    size(low=1),
    default=Bytes(5 * MIB),
    importance=Importance.HIGH,
    doc="How much is read at a time when a coordinator loads its transactions.",
    inert=FIXED,
)
TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS: Final = BrokerSetting(
    "transaction.abort.timed.out.transaction.cleanup.interval.ms",
    duration(low=1, type=Type.INT),
    default=Millis(10 * SECOND),
    importance=Importance.LOW,
    doc="When the end of a transaction whose time has run out is tried again, if it failed.",
)
TRANSACTION_REMOVE_EXPIRED_TRANSACTION_CLEANUP_INTERVAL_MS: Final = BrokerSetting(
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    duration(low=1, type=Type.INT),
    default=HOUR,
    importance=Importance.LOW,
    doc="How often transactional ids that can be forgotten are looked for.",
)
TRANSACTION_PARTITION_VERIFICATION_ENABLE: Final = BrokerSetting(
    "transaction.partition.verification.enable",
    flag(),
    default=True,
    importance=Importance.LOW,
    mode=Mode.CLUSTER_WIDE,
    doc="Whether a partition asks the coordinator if a transaction is open before it writes to it.",
)
PRODUCER_ID_EXPIRATION_MS: Final = BrokerSetting(
    "producer.id.expiration.ms",
    duration(low=1, type=Type.INT),
    default=DAY,
    importance=Importance.LOW,
    mode=Mode.CLUSTER_WIDE,
    doc="How long a partition remembers a producer that is silent.",
)
PRODUCER_ID_EXPIRATION_CHECK_INTERVAL_MS: Final = BrokerSetting(
    "producer.id.expiration.check.interval.ms",
    duration(low=1, type=Type.INT),
    default=Millis(10 * MINUTE),
    importance=Importance.LOW,
    doc="How often producers that can be forgotten are looked for.",
    inert="they are looked for at each `log.retention.check.interval.ms`",
)

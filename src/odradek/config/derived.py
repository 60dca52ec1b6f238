"""What follows from several settings together: each rule once, for all who need it."""

from odradek.config.broker import BrokerConfig
from odradek.config.listeners import Auto, Listener, Listeners, SecurityProtocol
from odradek.config.rows import broker, groups, log, network, transactions, zookeeper
from odradek.model.ids import NO_BROKER, BrokerId
from odradek.model.units import Millis


def broker_id(config: BrokerConfig) -> BrokerId:
    """This broker's number, or NO_BROKER if it is to draw one."""
    named = config[broker.BROKER_ID]
    return BrokerId(named if named != NO_BROKER else config[broker.NODE_ID])


def log_dirs(config: BrokerConfig) -> tuple[str, ...]:
    """The directories of the logs, in the order in which they were written; some, after start."""
    return config[log.LOG_DIRS] or config[log.LOG_DIR] or ()


def zookeeper_is_embedded(config: BrokerConfig) -> bool:
    """Whether this broker's process runs the ZooKeeper server."""
    said = config[zookeeper.ZOOKEEPER_EMBEDDED]
    return config[zookeeper.ZOOKEEPER_CONNECT] is None if said is None else said


def zookeeper_data_dir(config: BrokerConfig) -> str:
    """Where the embedded server keeps its tree: in files, for Kafka refuses a folder there."""
    return config[zookeeper.ZOOKEEPER_EMBEDDED_DATA_DIR] or log_dirs(config)[0]


def zookeeper_connection_timeout(config: BrokerConfig) -> Millis:
    """How long a start may wait for ZooKeeper before that is an error."""
    said = config[zookeeper.ZOOKEEPER_CONNECTION_TIMEOUT_MS]
    return config[zookeeper.ZOOKEEPER_SESSION_TIMEOUT_MS] if said is None else said


def advertised(config: BrokerConfig) -> Listeners:
    """Where the broker says it is found. With `auto` this is only the fallback, for brokers."""
    said = config[network.ADVERTISED_LISTENERS]
    return config[network.LISTENERS] if said is None or isinstance(said, Auto) else said


def advertises_automatically(config: BrokerConfig) -> bool:
    """Whether each client is told the address that it connected to."""
    return isinstance(config[network.ADVERTISED_LISTENERS], Auto)


def inter_broker_listener_name(config: BrokerConfig) -> str:
    """The listener that brokers use among themselves."""
    said = config[network.INTER_BROKER_LISTENER_NAME]
    return (said or config[network.SECURITY_INTER_BROKER_PROTOCOL]).upper()


def security_protocol(config: BrokerConfig, listener: Listener) -> SecurityProtocol:
    """How a listener is secured; every one has an entry, which is checked at start."""
    return config[network.LISTENER_SECURITY_PROTOCOL_MAP][listener.name]


def transaction_topic_factor(config: BrokerConfig) -> int:
    """How many replicas the topic of transactions has; on one machine, likewise."""
    row = transactions.TRANSACTION_STATE_LOG_REPLICATION_FACTOR
    return 1 if zookeeper_is_embedded(config) and not config.is_set(row) else config[row]


def transaction_topic_min_isr(config: BrokerConfig) -> int:
    """How many of them have a record before it counts."""
    row = transactions.TRANSACTION_STATE_LOG_MIN_ISR
    return 1 if zookeeper_is_embedded(config) and not config.is_set(row) else config[row]


def offsets_topic_factor(config: BrokerConfig) -> int:
    """How many replicas the groups' topic has. A cluster on one machine has one broker to begin."""
    if zookeeper_is_embedded(config) and not config.is_set(groups.OFFSETS_TOPIC_REPLICATION_FACTOR):
        return 1
    return config[groups.OFFSETS_TOPIC_REPLICATION_FACTOR]

"""Listeners, connections, and how much of a request is taken at a time."""

from types import MappingProxyType
from typing import Final

from odradek.config.kinds import ConfigType as Type
from odradek.config.kinds import choice, duration, flag, number, optional, size, string, unlimited
from odradek.config.listeners import (
    Listener,
    SecurityProtocol,
    advertised_listeners,
    counts_by_host,
    listeners,
    security_map,
)
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.model.limits import FRAME_BYTES_MAX
from odradek.model.units import MIB, MINUTE, SECOND, Bytes, Millis

INT_MAX: Final = (1 << 31) - 1
_CONNECTING: Final = "another broker is waited for ten seconds"

LISTENERS: Final = BrokerSetting(
    "listeners",
    listeners(),
    default=(Listener("PLAINTEXT", "", 9092),),
    importance=Importance.HIGH,
    doc="Where the broker listens. An empty host means all of the machine's addresses, "
    "port 0 any free port. Kafka can open and close listeners while it runs.",
)
ADVERTISED_LISTENERS: Final = BrokerSetting(
    "advertised.listeners",
    advertised_listeners(),
    default=None,
    importance=Importance.HIGH,
    doc="Where clients and brokers find the broker, if not at `listeners`. With `auto`, which "
    "Kafka does not have, each client is told the address that it connected to itself: right "
    "behind a mapped port, where the broker cannot know it beforehand.",
)
LISTENER_SECURITY_PROTOCOL_MAP: Final = BrokerSetting(
    "listener.security.protocol.map",
    security_map(),
    default=MappingProxyType(
        {
            name: SecurityProtocol[name]
            for name in ("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT")
        }
    ),
    importance=Importance.LOW,
    doc="How each listener is secured.",
)
INTER_BROKER_LISTENER_NAME: Final = BrokerSetting(
    "inter.broker.listener.name",
    optional(string("[^:/,\\s]+", "a listener's name")),
    default=None,
    doc="The listener that brokers use among themselves. By default the one named after "
    "`security.inter.broker.protocol`.",
)
SECURITY_INTER_BROKER_PROTOCOL: Final = BrokerSetting(
    "security.inter.broker.protocol",
    choice(*SecurityProtocol.__members__),
    default="PLAINTEXT",
    doc="How brokers talk among themselves, if `inter.broker.listener.name` is not set.",
)
CONTROL_PLANE_LISTENER_NAME: Final = BrokerSetting(
    "control.plane.listener.name",
    optional(string("[^:/,\\s]+", "a listener's name")),
    default=None,
    importance=Importance.HIGH,
    doc="The listener on which the controller speaks to this broker. By default the one that "
    "brokers use among themselves.",
)
SOCKET_SEND_BUFFER_BYTES: Final = BrokerSetting(
    "socket.send.buffer.bytes",
    unlimited(size(low=1)),
    default=None,
    kafka_default="102400",
    importance=Importance.HIGH,
    doc="The kernel's buffer for sending, for each connection; -1 leaves it to the kernel, which "
    "then needs half the time of Kafka's 102400 for what consumers read.",
)
SOCKET_RECEIVE_BUFFER_BYTES: Final = BrokerSetting(
    "socket.receive.buffer.bytes",
    unlimited(size(low=1)),
    default=None,
    kafka_default="102400",
    importance=Importance.HIGH,
    doc="The kernel's buffer for receiving, for each connection; -1 leaves it to the kernel.",
)
SOCKET_REQUEST_MAX_BYTES: Final = BrokerSetting(
    "socket.request.max.bytes",
    size(low=1),
    default=FRAME_BYTES_MAX,
    importance=Importance.HIGH,
    doc="The largest request that is taken. A connection that announces more is closed.",
)
SOCKET_LISTEN_BACKLOG_SIZE: Final = BrokerSetting(
    "socket.listen.backlog.size",
    number(low=1),
    default=1_024,
    doc="Connections that the kernel keeps waiting until they are accepted. A client that "
    "finds no room tries again after a second.",
    kafka_default="50",
)
SOCKET_CONNECTION_SETUP_TIMEOUT_MS: Final = BrokerSetting(
    "socket.connection.setup.timeout.ms",
    duration(low=1),
    default=Millis(10 * SECOND),
    doc="How long this broker waits for a connection to another. It doubles with each failure.",
    inert=_CONNECTING,
)
SOCKET_CONNECTION_SETUP_TIMEOUT_MAX_MS: Final = BrokerSetting(
    "socket.connection.setup.timeout.max.ms",
    duration(low=1),
    default=Millis(30 * SECOND),
    doc="The longest it waits for a connection after many failures.",
    inert=_CONNECTING,
)
MAX_CONNECTIONS: Final = BrokerSetting(
    "max.connections",
    number(low=0),
    default=INT_MAX,
    mode=Mode.CLUSTER_WIDE,
    doc="Connections open at a time, on all listeners together. More wait to be accepted.",
)
MAX_CONNECTION_CREATION_RATE: Final = BrokerSetting(
    "max.connection.creation.rate",
    number(low=0),
    default=INT_MAX,
    mode=Mode.CLUSTER_WIDE,
    doc="Connections accepted in a second. More wait to be accepted.",
)
MAX_CONNECTIONS_PER_IP: Final = BrokerSetting(
    "max.connections.per.ip",
    number(low=0),
    default=INT_MAX,
    mode=Mode.CLUSTER_WIDE,
    doc="Connections open at a time from one address. More are closed at once.",
)
MAX_CONNECTIONS_PER_IP_OVERRIDES: Final = BrokerSetting(
    "max.connections.per.ip.overrides",
    counts_by_host(),
    default=MappingProxyType({}),
    mode=Mode.CLUSTER_WIDE,
    doc="Other limits for some addresses: `host:count`, separated by commas.",
)
CONNECTIONS_MAX_IDLE_MS: Final = BrokerSetting(
    "connections.max.idle.ms",
    unlimited(duration(low=0), below=0),
    default=Millis(10 * MINUTE),
    doc="A connection that was silent for so long is closed.",
)
CONNECTION_FAILED_AUTHENTICATION_DELAY_MS: Final = BrokerSetting(
    "connection.failed.authentication.delay.ms",
    duration(low=0, type=Type.INT),
    default=Millis(100),
    importance=Importance.LOW,
    doc="How long the refusal of a wrong password is held back.",
)
QUOTA_WINDOW_NUM: Final = BrokerSetting(
    "quota.window.num",
    number(low=1),
    default=11,
    importance=Importance.LOW,
    doc="Over how many windows it is measured what a client uses of its quotas.",
)
QUOTA_WINDOW_SIZE_SECONDS: Final = BrokerSetting(
    "quota.window.size.seconds",
    number(low=1),
    default=1,
    importance=Importance.LOW,
    doc="How long each of these windows is.",
)
CONTROLLER_QUOTA_WINDOW_NUM: Final = BrokerSetting(
    "controller.quota.window.num",
    number(low=1),
    default=11,
    importance=Importance.LOW,
    doc="For how many windows together a client may make or delete partitions at once, as far as "
    "it has a quota for that.",
)
CONTROLLER_QUOTA_WINDOW_SIZE_SECONDS: Final = BrokerSetting(
    "controller.quota.window.size.seconds",
    number(low=1),
    default=1,
    importance=Importance.LOW,
    doc="How long each of these windows is.",
)
QUEUED_MAX_REQUESTS: Final = BrokerSetting(
    "queued.max.requests",
    number(low=1),
    default=500,
    importance=Importance.HIGH,
    doc="Requests that may wait for their work to be done. Beyond that no socket is read.",
    inert="a connection has 64 open at most, and `queued.max.request.bytes` bounds those of all",
)
QUEUED_MAX_REQUEST_BYTES: Final = BrokerSetting(
    "queued.max.request.bytes",
    unlimited(size(low=1, type=Type.LONG), below=1),
    default=None,
    doc="Bytes of requests in memory at a time. Beyond that no socket is read.",
)
FETCH_MAX_BYTES: Final = BrokerSetting(
    "fetch.max.bytes",
    size(low=1024),
    default=Bytes(55 * MIB),
    doc="The largest answer to one fetch, whatever the client asks for.",
)
MAX_INCREMENTAL_FETCH_SESSION_CACHE_SLOTS: Final = BrokerSetting(
    "max.incremental.fetch.session.cache.slots",
    number(low=0),
    default=1000,
    doc="Fetch sessions that are kept. Clients beyond them send full fetches.",
)
MAX_REQUEST_PARTITION_SIZE_LIMIT: Final = BrokerSetting(
    "max.request.partition.size.limit",
    number(low=1),
    default=2000,
    doc="Partitions that one answer to DescribeTopicPartitions holds.",
)
NUM_NETWORK_THREADS: Final = BrokerSetting(
    "num.network.threads",
    number(low=1),
    default=3,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    inert="one loop serves all connections",
    doc="Threads that read from and write to sockets, for each listener.",
)
NUM_IO_THREADS: Final = BrokerSetting(
    "num.io.threads",
    number(low=1),
    default=8,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    inert="one loop answers requests, and each log directory has a thread of its own",
    doc="Threads that answer requests.",
)
AUTO_INCLUDE_JMX_REPORTER: Final = BrokerSetting(
    "auto.include.jmx.reporter",
    flag(),
    default=True,
    importance=Importance.LOW,
    inert="metrics are served over HTTP, see `admin.listener`",
    doc="Whether metrics are also found by JMX.",
)

"""The coordination service: a real ensemble, or the server in the broker's own process."""

from typing import Final

from odradek.config.kinds import PORT, duration, flag, number, optional, size, string
from odradek.config.kinds import ConfigType as Type
from odradek.config.setting import BrokerSetting, Importance
from odradek.model.units import MIB, SECOND, Bytes, Millis

_SERVER: Final = rf"(\[[^\s/,\]]+\]|[^\s/,:\[\]]+)(:{PORT})?"

ZOOKEEPER_CONNECT: Final = BrokerSetting(
    "zookeeper.connect",
    optional(string(rf"{_SERVER}( *, *{_SERVER})*(/\S*)?", "host:port,host:port/path")),
    default=None,
    importance=Importance.HIGH,
    doc="The servers of the ensemble, `host:port` separated by commas, and perhaps a path below "
    "which the cluster lives. Without it the broker runs an embedded server.",
)
ZOOKEEPER_SESSION_TIMEOUT_MS: Final = BrokerSetting(
    "zookeeper.session.timeout.ms",
    duration(low=1, type=Type.INT),
    default=Millis(18 * SECOND),
    importance=Importance.HIGH,
    doc="A broker that was not heard for so long counts as dead. A process that dies is found out "
    "at once; this is for machines that vanish.",
)
ZOOKEEPER_CONNECTION_TIMEOUT_MS: Final = BrokerSetting(
    "zookeeper.connection.timeout.ms",
    optional(duration(low=1, type=Type.INT)),
    default=None,
    importance=Importance.HIGH,
    doc="A start waits for ZooKeeper as long as it takes, and says so each second: for this time "
    "as a warning, then as an error. By default as `zookeeper.session.timeout.ms`.",
)
ZOOKEEPER_MAX_IN_FLIGHT_REQUESTS: Final = BrokerSetting(
    "zookeeper.max.in.flight.requests",
    number(low=1),
    default=1000,
    kafka_default="10",
    importance=Importance.HIGH,
    doc="Requests sent before the first is answered.",
)
ZOOKEEPER_SET_ACL: Final = BrokerSetting(
    "zookeeper.set.acl",
    flag(),
    default=False,
    importance=Importance.HIGH,
    doc="Whether nodes are created so that only this identity may change them.",
)
JUTE_MAXBUFFER: Final = BrokerSetting(
    "jute.maxbuffer",
    size(low=1024, high=32 * MIB),
    default=Bytes(MIB - 1),
    ours=True,
    doc="The largest packet to ZooKeeper. The ensemble has a setting of the same name, there a "
    "system property; ours must not be larger. The embedded server takes it from here.",
)
ZOOKEEPER_EMBEDDED: Final = BrokerSetting(
    "zookeeper.embedded",
    optional(flag()),
    default=None,
    importance=Importance.HIGH,
    ours=True,
    doc="Whether a ZooKeeper server runs in this broker's process: for clusters on one machine. By "
    "default it does if `zookeeper.connect` is not set.",
)
ZOOKEEPER_EMBEDDED_HOST: Final = BrokerSetting(
    "zookeeper.embedded.host",
    string(r"[0-9a-zA-Z\-%._:]*", "a host's name or address, or nothing"),
    default="127.0.0.1",
    ours=True,
    doc="The address that the embedded server listens at. Nothing means all of the machine's.",
)
ZOOKEEPER_EMBEDDED_PORT: Final = BrokerSetting(
    "zookeeper.embedded.port",
    number(low=0, high=65535),
    default=2181,
    ours=True,
    doc="The port of the embedded server; 0 has a free one chosen.",
)
ZOOKEEPER_EMBEDDED_DATA_DIR: Final = BrokerSetting(
    "zookeeper.embedded.data.dir",
    optional(string(r".+", "a directory")),
    default=None,
    ours=True,
    doc="Where the embedded server keeps its tree, in files named `zookeeper.*`. By default in the "
    "first log directory.",
)

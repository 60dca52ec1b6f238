"""The coordination service: a real ensemble, or the server in the broker's own process."""

from typing import Final

from odradek.config.kinds import (
    PORT,
    choice,
    duration,
    flag,
    number,
    optional,
    secret,
    size,
    string,
)
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
    doc="Whether znodes are made so that only brokers may change them, and some that only they may "
    "read, as by Kafka. It needs a name to ZooKeeper: by SASL or by a certificate.",
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
    doc="The address that the embedded server listens at. Nothing means all of the machine's. "
    "Others than those of loopback need names, or `zookeeper.embedded.open=true`.",
)
ZOOKEEPER_EMBEDDED_OPEN: Final = BrokerSetting(
    "zookeeper.embedded.open",
    flag(),
    default=False,
    ours=True,
    doc="Whether everybody who reaches the embedded server may change everything, also from other "
    "machines.",
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
ZOOKEEPER_EMBEDDED_SSL_KEYSTORE_LOCATION: Final = BrokerSetting(
    "zookeeper.embedded.ssl.keystore.location",
    optional(string()),
    default=None,
    ours=True,
    doc="The file with the certificate of the embedded server, its chain and its private key, in "
    "PEM or PKCS12. With it the server speaks TLS, and nothing else.",
)
ZOOKEEPER_EMBEDDED_SSL_KEYSTORE_PASSWORD: Final = BrokerSetting(
    "zookeeper.embedded.ssl.keystore.password",
    optional(secret()),
    default=None,
    ours=True,
    doc="The password of its private key.",
)
ZOOKEEPER_EMBEDDED_SSL_TRUSTSTORE_LOCATION: Final = BrokerSetting(
    "zookeeper.embedded.ssl.truststore.location",
    optional(string()),
    default=None,
    ours=True,
    doc="The file with the certificates that are believed of its clients: PEM, PKCS12, JKS.",
)
ZOOKEEPER_EMBEDDED_SSL_CLIENT_AUTH: Final = BrokerSetting(
    "zookeeper.embedded.ssl.client.auth",
    choice("required", "requested", "none"),
    default="none",
    ours=True,
    doc="Whether its clients have names by certificates.",
)

OF_EMBEDDED_TLS: Final = (
    ZOOKEEPER_EMBEDDED_SSL_KEYSTORE_LOCATION,
    ZOOKEEPER_EMBEDDED_SSL_KEYSTORE_PASSWORD,
    ZOOKEEPER_EMBEDDED_SSL_TRUSTSTORE_LOCATION,
    ZOOKEEPER_EMBEDDED_SSL_CLIENT_AUTH,
)

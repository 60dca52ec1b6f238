"""Who this broker is, and what it does on its own."""

from dataclasses import replace
from typing import Final

from odradek.config.kinds import (
    PORT,
    Kind,
    NotAllowed,
    duration,
    flag,
    number,
    optional,
    principals,
    secret,
    string,
)
from odradek.config.kinds import ConfigType as Type
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.config.versions import kafka_version
from odradek.model.units import SECOND, Millis

BROKER_ID: Final = BrokerSetting(
    "broker.id",
    number(low=-1),
    default=-1,
    importance=Importance.HIGH,
    doc="This broker's number in the cluster, for life. -1 has one drawn at the first start.",
)
NODE_ID: Final = BrokerSetting(
    "node.id",
    number(low=-1),
    default=-1,
    importance=Importance.HIGH,
    doc="Another name for `broker.id`. Set one of them, or both alike.",
)
BROKER_ID_GENERATION_ENABLE: Final = BrokerSetting(
    "broker.id.generation.enable",
    flag(),
    default=True,
    doc="Whether a broker without a number draws one, above `reserved.broker.max.id`.",
)
RESERVED_BROKER_MAX_ID: Final = BrokerSetting(
    "reserved.broker.max.id",
    number(low=0),
    default=1000,
    doc="The largest number that may be given by hand while numbers are drawn, too.",
)
BROKER_RACK: Final = BrokerSetting(
    "broker.rack",
    optional(string()),
    default=None,
    doc="Where the broker stands. Replicas of a partition are spread over the racks.",
)
AUTO_CREATE_TOPICS_ENABLE: Final = BrokerSetting(
    "auto.create.topics.enable",
    flag(),
    default=True,
    importance=Importance.HIGH,
    doc="Whether a topic comes into being when a client first asks for it.",
)
DELETE_TOPIC_ENABLE: Final = BrokerSetting(
    "delete.topic.enable",
    flag(),
    default=True,
    importance=Importance.HIGH,
    doc="Whether topics can be deleted. Where not, the request is refused.",
)
NUM_PARTITIONS: Final = BrokerSetting(
    "num.partitions",
    number(low=1),
    default=1,
    doc="Partitions of a topic that is created without saying how many.",
)
DEFAULT_REPLICATION_FACTOR: Final = BrokerSetting(
    "default.replication.factor",
    number(low=1, high=32767),
    default=1,
    doc="Replicas of a topic that is created without saying how many.",
)
REQUEST_TIMEOUT_MS: Final = BrokerSetting(
    "request.timeout.ms",
    duration(low=1, type=Type.INT),
    default=Millis(30 * SECOND),
    importance=Importance.HIGH,
    doc="How long this broker, as a client of another, waits for an answer.",
)
CONTROLLED_SHUTDOWN_ENABLE: Final = BrokerSetting(
    "controlled.shutdown.enable",
    flag(),
    default=True,
    doc="Whether a broker hands its leaderships over before it stops.",
)
CONTROLLED_SHUTDOWN_MAX_RETRIES: Final = BrokerSetting(
    "controlled.shutdown.max.retries",
    number(low=0),
    default=3,
    doc="How often it asks again if the controller could not move everything.",
)
CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS: Final = BrokerSetting(
    "controlled.shutdown.retry.backoff.ms",
    duration(low=0),
    default=Millis(5 * SECOND),
    doc="How long it waits before it asks again.",
)
ADMIN_LISTENER: Final = BrokerSetting(
    "admin.listener",
    string(rf"(\[?[0-9a-zA-Z\-%._:]*\]?:{PORT})?", "host:port, or nothing"),
    default="127.0.0.1:9644",
    ours=True,
    doc="Where `/metrics`, `/health/live` and `/health/ready` are served, over HTTP or, with a "
    "certificate, HTTPS. Left empty it is not served; port 0 has a free one chosen. Other "
    "addresses than those of loopback need a certificate and a token, or "
    "`admin.listener.open=true`.",
)
ADMIN_LISTENER_TOKEN: Final = BrokerSetting(
    "admin.listener.token",
    optional(secret()),
    default=None,
    ours=True,
    doc="The bearer token that `/metrics` needs: `Authorization: Bearer` and this. Probes of "
    "health need none.",
)
ADMIN_LISTENER_SSL_KEYSTORE_LOCATION: Final = BrokerSetting(
    "admin.listener.ssl.keystore.location",
    optional(string()),
    default=None,
    ours=True,
    doc="The file with the admin listener's certificate, its chain and its private key, in PEM. "
    "It is read again while the broker runs.",
)
ADMIN_LISTENER_SSL_KEY_PASSWORD: Final = BrokerSetting(
    "admin.listener.ssl.key.password",
    optional(secret()),
    default=None,
    ours=True,
    doc="The password of that private key.",
)
ADMIN_LISTENER_OF_TLS: Final = (
    ADMIN_LISTENER_SSL_KEYSTORE_LOCATION,
    ADMIN_LISTENER_SSL_KEY_PASSWORD,
)
ADMIN_LISTENER_OPEN: Final = BrokerSetting(
    "admin.listener.open",
    flag(),
    default=False,
    ours=True,
    doc="Whether everybody who reaches the admin listener may read metrics, also from other "
    "machines.",
)
AUDIT_LOG: Final = BrokerSetting(
    "audit.log",
    optional(string()),
    default=None,
    ours=True,
    doc="The file to which refused requests, failed logins and administrative changes are "
    "written, a JSON object a line. It is opened again when it was renamed. Not set, no request "
    "is looked at.",
)
AUDIT_LOG_ALLOWED: Final = BrokerSetting(
    "audit.log.allowed",
    flag(),
    default=False,
    ours=True,
    doc="Whether requests that were allowed are written to `audit.log`, too: a line for each "
    "resource of each request.",
)
AUTHORIZER: Final = "kafka.security.authorizer.AclAuthorizer"
FORMER_AUTHORIZER: Final = "kafka.security.auth.SimpleAclAuthorizer"  # which Kafka 3.0 has dropped


def _authorizer() -> Kind[str]:
    known = string(f"|{AUTHORIZER}", f"empty, or {AUTHORIZER}")

    def parse(text: str) -> str:
        if text == FORMER_AUTHORIZER:
            raise NotAllowed(f"Kafka has dropped it; {AUTHORIZER} reads the same rules")
        return known.parse(text)

    return replace(known, parse=parse)


AUTHORIZER_CLASS_NAME: Final = BrokerSetting(
    "authorizer.class.name",
    _authorizer(),
    default="",
    importance=Importance.LOW,
    doc="Who may do what: by rules in ZooKeeper, as Kafka's AclAuthorizer keeps them. Left empty, "
    "every client may do everything. Other classes are refused, because no Java is run.",
)
SUPER_USERS: Final = BrokerSetting(
    "super.users",
    principals(),
    default=(),
    doc="Principals that may do everything, where there is an authorizer. Brokers should be "
    "among them; otherwise they have to be allowed ClusterAction and Create on the cluster, and "
    "Describe on all topics.",
)
ALLOW_EVERYONE_IF_NO_ACL_FOUND: Final = BrokerSetting(
    "allow.everyone.if.no.acl.found",
    flag(),
    default=False,
    doc="Whether every client may do everything to what no rule is about, where there is an "
    "authorizer.",
)
BACKGROUND_THREADS: Final = BrokerSetting(
    "background.threads",
    number(low=1),
    default=10,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    inert="each log directory has one thread of its own, and the loop does the rest",
    doc="Threads for work in the background.",
)
INTER_BROKER_PROTOCOL_VERSION: Final = BrokerSetting(
    "inter.broker.protocol.version",
    kafka_version("3.9-IV0"),
    default="3.9-IV0",
    inert="brokers talk to each other as Kafka 3.9 does",
    doc="The version of Kafka whose requests brokers send each other.",
)

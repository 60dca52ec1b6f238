"""How this broker proves its name to ZooKeeper, and encrypts what it says there.

Passwords of ZooKeeper stand where Kafka has them: in a JAAS file, never in these settings.
"""

from typing import Any, Final

from odradek.config.kinds import choice, flag, listing, never, optional, secret, string
from odradek.config.setting import BrokerSetting, Importance

_INERT: Final = "what a store holds decides how it is read"
_NO_LISTS: Final = "certificates that were withdrawn are not looked up here; shorten their life"

JAVA_SECURITY_AUTH_LOGIN_CONFIG: Final = BrokerSetting(
    "java.security.auth.login.config",
    optional(string(r".+", "a file")),
    default=None,
    ours=True,
    doc="The JAAS file with the broker's name and password for ZooKeeper, in its section `Client`, "
    "and with login modules of listeners that have no `sasl.jaas.config`, in `KafkaServer` or, of "
    "one listener, `clients.KafkaServer`. It is also found in `KAFKA_OPTS`, as "
    "`-Djava.security.auth.login.config=...`.",
)
ZOOKEEPER_SASL_CLIENT: Final = BrokerSetting(
    "zookeeper.sasl.client",
    flag(),
    default=True,
    ours=True,
    doc="Whether the broker logs in to ZooKeeper, if the JAAS file has its section. Also found in "
    "`KAFKA_OPTS`.",
)
ZOOKEEPER_SASL_CLIENTCONFIG: Final = BrokerSetting(
    "zookeeper.sasl.clientconfig",
    string(r".+", "the name of a section"),
    default="Client",
    ours=True,
    doc="The section of the JAAS file for ZooKeeper. Also found in `KAFKA_OPTS`.",
)
ZOOKEEPER_SSL_CLIENT_ENABLE: Final = BrokerSetting(
    "zookeeper.ssl.client.enable",
    flag(),
    default=False,
    doc="Whether connections to ZooKeeper are encrypted. Its port for TLS is another one.",
)
ZOOKEEPER_CLIENTCNXNSOCKET: Final = BrokerSetting(
    "zookeeper.clientCnxnSocket",
    optional(string()),
    default=None,
    inert="it names a class of Java; `zookeeper.ssl.client.enable` decides",
    doc="Which connections Kafka makes; with TLS it must be ClientCnxnSocketNetty there.",
)
ZOOKEEPER_SSL_KEYSTORE_LOCATION: Final = BrokerSetting(
    "zookeeper.ssl.keystore.location",
    optional(string()),
    default=None,
    doc="The file with the certificate by which the broker has a name in ZooKeeper, its chain and "
    "its private key, in PEM or PKCS12.",
)
ZOOKEEPER_SSL_KEYSTORE_PASSWORD: Final = BrokerSetting(
    "zookeeper.ssl.keystore.password",
    optional(secret()),
    default=None,
    doc="The password of the private key.",
)
ZOOKEEPER_SSL_KEYSTORE_TYPE: Final = BrokerSetting(
    "zookeeper.ssl.keystore.type",
    optional(string()),
    default=None,
    inert=_INERT,
    doc="The format of the key store.",
)
ZOOKEEPER_SSL_TRUSTSTORE_LOCATION: Final = BrokerSetting(
    "zookeeper.ssl.truststore.location",
    optional(string()),
    default=None,
    doc="The file with the certificates that are believed of ZooKeeper, in PEM, PKCS12 or Java's "
    "JKS; without it those of the system.",
)
ZOOKEEPER_SSL_TRUSTSTORE_PASSWORD: Final = BrokerSetting(
    "zookeeper.ssl.truststore.password",
    optional(secret()),
    default=None,
    doc="The password of a JKS trust store; without it the file is read, and not checked.",
)
ZOOKEEPER_SSL_TRUSTSTORE_TYPE: Final = BrokerSetting(
    "zookeeper.ssl.truststore.type",
    optional(string()),
    default=None,
    inert=_INERT,
    doc="The format of the trust store.",
)
ZOOKEEPER_SSL_PROTOCOL: Final = BrokerSetting(
    "zookeeper.ssl.protocol",
    choice("TLSv1.2", "TLSv1.3"),
    default="TLSv1.2",
    importance=Importance.LOW,
    doc="The one version of TLS that is spoken, if it is set and `zookeeper.ssl.enabled.protocols` "
    "is not. If neither is, both are.",
)
ZOOKEEPER_SSL_ENABLED_PROTOCOLS: Final = BrokerSetting(
    "zookeeper.ssl.enabled.protocols",
    optional(listing("TLSv1.2", "TLSv1.3")),
    default=None,
    importance=Importance.LOW,
    doc="The versions of TLS that are spoken.",
)
ZOOKEEPER_SSL_CIPHER_SUITES: Final = BrokerSetting(
    "zookeeper.ssl.cipher.suites",
    optional(listing()),
    default=None,
    importance=Importance.LOW,
    doc="The cipher suites that are offered, by Java's names, as `ssl.cipher.suites`.",
)
ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM: Final = BrokerSetting(
    "zookeeper.ssl.endpoint.identification.algorithm",
    choice("HTTPS", "https", ""),
    default="HTTPS",
    importance=Importance.LOW,
    doc="Whether the certificate of a ZooKeeper server must name its host: HTTPS, or nothing, "
    "which believes every certificate of the trust store.",
)
ZOOKEEPER_SSL_CRL_ENABLE: Final = BrokerSetting(
    "zookeeper.ssl.crl.enable",
    never(_NO_LISTS),
    default=False,
    importance=Importance.LOW,
    doc="Whether lists of withdrawn certificates are looked at; only false.",
)
ZOOKEEPER_SSL_OCSP_ENABLE: Final = BrokerSetting(
    "zookeeper.ssl.ocsp.enable",
    never(_NO_LISTS),
    default=False,
    importance=Importance.LOW,
    doc="Whether it is asked online if a certificate was withdrawn; only false.",
)

OF_TLS: Final[tuple[BrokerSetting[Any], ...]] = (
    ZOOKEEPER_SSL_KEYSTORE_LOCATION,
    ZOOKEEPER_SSL_KEYSTORE_PASSWORD,
    ZOOKEEPER_SSL_TRUSTSTORE_LOCATION,
    ZOOKEEPER_SSL_TRUSTSTORE_PASSWORD,
    ZOOKEEPER_SSL_ENABLED_PROTOCOLS,
    ZOOKEEPER_SSL_CIPHER_SUITES,
    ZOOKEEPER_SSL_ENDPOINT_IDENTIFICATION_ALGORITHM,
)
"""What a context of TLS is made of; with `zookeeper.` in front, each is as the listeners'."""

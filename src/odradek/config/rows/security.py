"""TLS and SASL: how listeners and brokers prove who they are.

Each may be set for one listener, as `listener.name.<its name in lower case>.<setting>`; the login
modules must, with the mechanism: `listener.name.external.scram-sha-256.sasl.jaas.config`.
"""

from typing import Final

from odradek.config.kinds import choice, duration, listing, number, optional, secret, size, string
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.model.units import Bytes, Millis

CBC: Final = "AES/CBC/PKCS5Padding"
GCM: Final = "AES/GCM/NoPadding"
"""The ciphers of passwords in ZooKeeper, by Java's names."""
KEY_FACTORIES: Final = tuple(f"PBKDF2WithHmacSHA{it}" for it in (1, 224, 256, 384, 512))

SASL_ENABLED_MECHANISMS: Final = BrokerSetting(
    "sasl.enabled.mechanisms",
    listing(),
    default=("GSSAPI",),
    doc="The mechanisms that a listener with SASL offers: PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, "
    "OAUTHBEARER.",
)
SASL_MECHANISM_INTER_BROKER_PROTOCOL: Final = BrokerSetting(
    "sasl.mechanism.inter.broker.protocol",
    string(),
    default="GSSAPI",
    doc="The mechanism by which this broker logs in to others.",
)
SASL_JAAS_CONFIG: Final = BrokerSetting(
    "sasl.jaas.config",
    optional(secret()),
    default=None,
    doc="The login module of one listener and one mechanism, as Kafka writes it. It counts only "
    "with both in its name: `listener.name.external.plain.sasl.jaas.config`.",
)
SASL_SERVER_MAX_RECEIVE_SIZE: Final = BrokerSetting(
    "sasl.server.max.receive.size",
    size(low=1),
    default=Bytes(512 * 1024),
    doc="The largest request of a client that has not proven its name.",
)
CONNECTIONS_MAX_REAUTH_MS: Final = BrokerSetting(
    "connections.max.reauth.ms",
    duration(low=0),
    default=Millis(0),
    doc="For how long a proven name is believed on a connection with SASL. A client that does not "
    "prove it again by then is disconnected; 0 is for ever.",
)
SSL_KEYSTORE_LOCATION: Final = BrokerSetting(
    "ssl.keystore.location",
    optional(string()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The file with the broker's certificate, its chain and its private key, in PEM or "
    "PKCS12. Its content decides how it is read, whatever `ssl.keystore.type` says.",
)
SSL_KEYSTORE_PASSWORD: Final = BrokerSetting(
    "ssl.keystore.password",
    optional(secret()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The password of a PKCS12 key store; for PEM the one of its private key.",
)
SSL_KEY_PASSWORD: Final = BrokerSetting(
    "ssl.key.password",
    optional(secret()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The password of the private key.",
)
SSL_KEYSTORE_KEY: Final = BrokerSetting(
    "ssl.keystore.key",
    optional(secret()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The private key itself, in PEM, instead of a file.",
)
SSL_KEYSTORE_CERTIFICATE_CHAIN: Final = BrokerSetting(
    "ssl.keystore.certificate.chain",
    optional(secret()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The certificate and its chain, in PEM, instead of a file.",
)
SSL_TRUSTSTORE_LOCATION: Final = BrokerSetting(
    "ssl.truststore.location",
    optional(string()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The file with the certificates that are believed, in PEM, PKCS12 or Java's JKS.",
)
SSL_TRUSTSTORE_PASSWORD: Final = BrokerSetting(
    "ssl.truststore.password",
    optional(secret()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The password of a trust store; without it one in JKS is read, and not checked.",
)
SSL_TRUSTSTORE_CERTIFICATES: Final = BrokerSetting(
    "ssl.truststore.certificates",
    optional(secret()),
    default=None,
    mode=Mode.PER_BROKER,
    doc="The certificates that are believed themselves, in PEM, instead of a file.",
)
SSL_KEYSTORE_TYPE: Final = BrokerSetting(
    "ssl.keystore.type",
    string(),
    default="JKS",
    inert="what a store holds decides how it is read",
    mode=Mode.PER_BROKER,
    doc="The format of the key store.",
)
SSL_TRUSTSTORE_TYPE: Final = BrokerSetting(
    "ssl.truststore.type",
    string(),
    default="JKS",
    inert="what a store holds decides how it is read",
    mode=Mode.PER_BROKER,
    doc="The format of the trust store.",
)
SSL_PROTOCOL: Final = BrokerSetting(
    "ssl.protocol",
    string(),
    default="TLSv1.3",
    inert="`ssl.enabled.protocols` decides",
    mode=Mode.PER_BROKER,
    doc="The newest version of TLS.",
)
SSL_ENABLED_PROTOCOLS: Final = BrokerSetting(
    "ssl.enabled.protocols",
    listing("TLSv1.2", "TLSv1.3"),
    default=("TLSv1.2", "TLSv1.3"),
    mode=Mode.PER_BROKER,
    doc="The versions of TLS that are spoken; older ones are refused.",
)
SSL_CIPHER_SUITES: Final = BrokerSetting(
    "ssl.cipher.suites",
    listing(),
    default=(),
    mode=Mode.PER_BROKER,
    doc="The cipher suites that are offered, by Java's names; without any, a listener offers all "
    "with forward secrecy and authenticated encryption. Of TLS 1.3 all three, or none, which "
    "leaves TLS 1.2.",
)
SSL_CLIENT_AUTH: Final = BrokerSetting(
    "ssl.client.auth",
    choice("required", "requested", "none"),
    default="none",
    mode=Mode.PER_BROKER,
    doc="Whether clients of a listener with SSL prove their names by certificates.",
)
SSL_ENDPOINT_IDENTIFICATION_ALGORITHM: Final = BrokerSetting(
    "ssl.endpoint.identification.algorithm",
    choice("https", "HTTPS", ""),
    default="https",
    importance=Importance.LOW,
    mode=Mode.PER_BROKER,
    doc="Whether this broker checks that the certificate of another names its host: `https`, or "
    "nothing, which believes every certificate of the trust store.",
)
SSL_PRINCIPAL_MAPPING_RULES: Final = BrokerSetting(
    "ssl.principal.mapping.rules",
    string(),
    default="DEFAULT",
    importance=Importance.LOW,
    doc="How the name of a certificate becomes the one of a user: `RULE:pattern/replacement/L`, "
    "several separated by commas, the first that fits counts.",
)
PASSWORD_ENCODER_SECRET: Final = BrokerSetting(
    "password.encoder.secret",
    optional(secret()),
    default=None,
    doc="What passwords that are set at run time are encrypted with before ZooKeeper has them. "
    "Without it none can be set. It needs `odradek[secure]`.",
)
PASSWORD_ENCODER_OLD_SECRET: Final = BrokerSetting(
    "password.encoder.old.secret",
    optional(secret()),
    default=None,
    doc="The secret before this one: a broker that starts encrypts its passwords anew.",
)
PASSWORD_ENCODER_CIPHER_ALGORITHM: Final = BrokerSetting(
    "password.encoder.cipher.algorithm",
    choice(CBC, GCM),
    default=CBC,
    importance=Importance.LOW,
    doc="How passwords are encrypted from now on.",
)
PASSWORD_ENCODER_KEYFACTORY_ALGORITHM: Final = BrokerSetting(
    "password.encoder.keyfactory.algorithm",
    optional(choice(*KEY_FACTORIES)),
    default=None,
    importance=Importance.LOW,
    doc="How a key is made of the secret; without it by PBKDF2WithHmacSHA512.",
)
PASSWORD_ENCODER_KEY_LENGTH: Final = BrokerSetting(
    "password.encoder.key.length",
    number(low=8),
    default=128,
    importance=Importance.LOW,
    doc="The bits of that key: 128, 192 or 256.",
)
PASSWORD_ENCODER_ITERATIONS: Final = BrokerSetting(
    "password.encoder.iterations",
    number(low=1024),
    default=4096,
    importance=Importance.LOW,
    doc="Iterations of PBKDF2; a million at most.",
)

OF_TLS: Final = (
    SSL_KEYSTORE_LOCATION,
    SSL_KEYSTORE_PASSWORD,
    SSL_KEY_PASSWORD,
    SSL_KEYSTORE_KEY,
    SSL_KEYSTORE_CERTIFICATE_CHAIN,
    SSL_TRUSTSTORE_LOCATION,
    SSL_TRUSTSTORE_PASSWORD,
    SSL_TRUSTSTORE_CERTIFICATES,
    SSL_ENABLED_PROTOCOLS,
    SSL_CIPHER_SUITES,
    SSL_CLIENT_AUTH,
    SSL_ENDPOINT_IDENTIFICATION_ALGORITHM,
)
"""What a context of TLS is made of."""
ON_LISTENERS: Final = (
    *OF_TLS,
    SSL_KEYSTORE_TYPE,
    SSL_TRUSTSTORE_TYPE,
    SSL_PROTOCOL,
    SSL_PRINCIPAL_MAPPING_RULES,
    SASL_ENABLED_MECHANISMS,
    SASL_SERVER_MAX_RECEIVE_SIZE,
    CONNECTIONS_MAX_REAUTH_MS,
)
"""What one listener may set for itself."""

"""How a client secures its connections, by the names of Kafka's clients.

`security.protocol`, `sasl.mechanism`, `sasl.jaas.config`, `ssl.truststore.location` and the rest of
`ssl.*`, as Java's clients have them. Whatever seems to protect and cannot be honoured is refused.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from odradek.config.listeners import HAS_SASL, HAS_TLS, MECHANISMS, NOT_SPOKEN, SecurityProtocol
from odradek.model.errors import InvalidSetting
from odradek.security.certificates.tls_settings import TlsSettings, tls_settings
from odradek.security.jaas import OAUTHBEARER, PLAIN, LoginModule, parse_jaas
from odradek.security.mechanisms.mechanism import ClientMechanism, NewClientMechanism
from odradek.security.mechanisms.plain import PlainClient
from odradek.security.mechanisms.scram import SCRAMS
from odradek.security.mechanisms.scram_client import ScramClient
from odradek.security.token_endpoint import SETTING, TokenEndpoint, token_endpoint

PROTOCOL: Final = "security.protocol"
MECHANISM: Final = "sasl.mechanism"
JAAS: Final = "sasl.jaas.config"
NONCE_BYTES: Final = 24
HONOURED: Final[Mapping[str, str]] = {
    PROTOCOL: "PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
    MECHANISM: "PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or OAUTHBEARER.",
    JAAS: "The login module with username and password, as Kafka's clients have it.",
    SETTING: "Where tokens are had from: https, with clientId and clientSecret; or file.",
    "ssl.truststore.location": "The certificates that are believed: PEM, PKCS12, JKS.",
    "ssl.truststore.password": "The password of a trust store.",
    "ssl.truststore.certificates": "The certificates themselves, in PEM.",
    "ssl.keystore.location": "This client's own certificate and key: PEM, PKCS12.",
    "ssl.keystore.password": "The password of that store or of its private key.",
    "ssl.keystore.key": "The private key itself, in PEM.",
    "ssl.keystore.certificate.chain": "The certificate itself and its chain, in PEM.",
    "ssl.key.password": "The password of the private key.",
    "ssl.endpoint.identification.algorithm": "https checks the broker's name; nothing does not.",
    "ssl.enabled.protocols": "TLSv1.2, TLSv1.3 or both.",
    "ssl.cipher.suites": "By Java's names.",
}
"""What is honoured of a client's settings."""
WITHOUT_EFFECT: Final = frozenset(
    {
        "ssl.keystore.type",
        "ssl.truststore.type",
        "ssl.protocol",
        "ssl.provider",
        "ssl.keymanager.algorithm",
        "ssl.trustmanager.algorithm",
        "ssl.secure.random.implementation",
        "sasl.login.callback.handler.class",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.buffer.seconds",
    }
)
"""What OpenSSL decides, or what is in a store."""


class ClientSecurity(NamedTuple):
    """How connections are secured. The default: not at all."""

    tls: TlsSettings | None = None
    mechanism: str | None = None
    module: LoginModule | None = None
    endpoint: TokenEndpoint | None = None  # for OAUTHBEARER

    @property
    def is_plain(self) -> bool:
        """Whether nothing is secured."""
        return self.tls is None and self.mechanism is None

    def mechanism_maker(self, random_bytes: Callable[[int], bytes]) -> NewClientMechanism | None:
        """What makes one login after the other; None where there is none, or one by tokens."""
        if self.mechanism is None or self.module is None or self.endpoint is not None:
            return None
        return client_mechanism(self.mechanism, self.module, JAAS, random_bytes)


def is_of_security(name: str) -> bool:
    """Whether a setting is one of those read here."""
    return name == PROTOCOL or name.startswith(("sasl.", "ssl."))


def client_security(settings: Mapping[str, str]) -> ClientSecurity:
    """What these settings ask for; InvalidSetting says what cannot be had."""
    protocol = _protocol(settings.get(PROTOCOL, "PLAINTEXT"))
    tls = tls_settings(settings) if protocol in HAS_TLS else None
    if protocol not in HAS_SASL:
        return ClientSecurity(tls)
    mechanism = settings.get(MECHANISM, "GSSAPI")
    if mechanism not in MECHANISMS:
        why = NOT_SPOKEN.get(mechanism, f"there are {', '.join(MECHANISMS)}")
        raise InvalidSetting(f"{MECHANISM}={mechanism[:40]}: {why}")
    text = settings.get(JAAS)
    if mechanism == OAUTHBEARER:
        module = parse_jaas(text, mechanism, JAAS) if text else None
        endpoint = token_endpoint(settings.get(SETTING), module, JAAS)
        return ClientSecurity(tls, mechanism, module, endpoint)
    if not text:
        raise InvalidSetting(f"{JAAS}: {protocol.name} needs a name and a password")
    return ClientSecurity(tls, mechanism, parse_jaas(text, mechanism, JAAS))


def _protocol(text: str) -> SecurityProtocol:
    try:
        return SecurityProtocol[text.upper()]
    except KeyError:
        known = ", ".join(SecurityProtocol.__members__)
        raise InvalidSetting(f"{PROTOCOL}={text[:40]}: must be one of {known}") from None


def client_mechanism(
    mechanism: str, module: LoginModule, setting: str, random_bytes: Callable[[int], bytes]
) -> NewClientMechanism:
    """What makes the client's side of a login, with the name and password of its module."""
    if module.options.get("tokenauth", "false").lower() == "true":
        raise InvalidSetting(f"{setting}: delegation tokens (tokenauth) are not supported")
    credentials = module.credentials
    if credentials is None:
        raise InvalidSetting(f"{setting}: it must have a username and a password")
    name, password = credentials

    def make() -> ClientMechanism:
        if mechanism == PLAIN:
            return PlainClient(name, password)
        return ScramClient(SCRAMS[mechanism], name, password, nonce=random_bytes(NONCE_BYTES))

    return make

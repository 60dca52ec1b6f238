"""TLS by Kafka's settings: those of a listener, of a broker among brokers, and of a client.

Only TLS 1.2 and 1.3 are spoken. Cipher suites have Java's names. OpenSSL, as Python sees it, cannot
choose among the suites of TLS 1.3: a list names all three of them, or none, which leaves TLS 1.2.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.config.kinds import Secret
from odradek.model.errors import InvalidSetting

PROTOCOLS: Final = ("TLSv1.2", "TLSv1.3")
SUITES_OF_1_3: Final = frozenset(
    {"TLS_AES_256_GCM_SHA384", "TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256"}
)
_EXCHANGES: Final = ("ECDHE_ECDSA", "ECDHE_RSA", "DHE_RSA")
_CIPHERS: Final = {
    "AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "CHACHA20_POLY1305_SHA256": "CHACHA20-POLY1305",
}
SUITES_OF_1_2: Final = {
    f"TLS_{exchange}_WITH_{java}": f"{exchange.replace('_', '-')}-{ours}"
    for exchange in _EXCHANGES
    for java, ours in _CIPHERS.items()
}
"""OpenSSL's names by Java's: those with forward secrecy and authenticated encryption."""


class Store(NamedTuple):
    """A key store or a trust store: a file, or PEM in the setting itself (KIP-651)."""

    setting: str
    location: str = ""
    password: Secret | None = None
    inline: Secret | None = None


class TlsSettings(NamedTuple):
    """All that a context is made of."""

    key_store: Store | None = None
    key_password: Secret | None = None
    trust_store: Store | None = None
    client_auth: str = "none"
    checks_names: bool = True
    protocols: tuple[str, ...] = PROTOCOLS
    suites: tuple[str, ...] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """Those that are read."""
        return tuple(it.location for it in (self.key_store, self.trust_store) if it and it.location)


def tls_settings(texts: Mapping[str, str]) -> TlsSettings:
    """Of Java's names; what is missing has Kafka's default."""
    return TlsSettings(
        key_store=_key_store(texts),
        key_password=_secret(texts, "ssl.key.password"),
        trust_store=_trust_store(texts),
        client_auth=_client_auth(texts.get("ssl.client.auth", "none")),
        checks_names=_checks_names(texts.get("ssl.endpoint.identification.algorithm", "https")),
        protocols=_protocols(_list(texts.get("ssl.enabled.protocols", ""))),
        suites=_suites(_list(texts.get("ssl.cipher.suites", ""))),
    )


def _key_store(texts: Mapping[str, str]) -> Store | None:
    key, chain = texts.get("ssl.keystore.key"), texts.get("ssl.keystore.certificate.chain")
    if key and chain:
        return Store("ssl.keystore.key", inline=Secret(_lines(key) + "\n" + _lines(chain)))
    if key or chain:
        raise InvalidSetting("ssl.keystore.key and ssl.keystore.certificate.chain need each other")
    location = texts.get("ssl.keystore.location")
    if not location:
        return None
    return Store("ssl.keystore.location", location, _secret(texts, "ssl.keystore.password"))


def _trust_store(texts: Mapping[str, str]) -> Store | None:
    inline = texts.get("ssl.truststore.certificates")
    if inline:
        return Store("ssl.truststore.certificates", inline=Secret(_lines(inline)))
    location = texts.get("ssl.truststore.location")
    if not location:
        return None
    return Store("ssl.truststore.location", location, _secret(texts, "ssl.truststore.password"))


def _lines(pem: str) -> str:
    r"""In a properties file, lines often end with the two characters `\n`."""
    return pem.replace("\\n", "\n")


def _secret(texts: Mapping[str, str], name: str) -> Secret | None:
    text = texts.get(name)
    return Secret(text) if text else None


def _client_auth(text: str) -> str:
    if text not in {"none", "requested", "required"}:
        raise InvalidSetting(f"ssl.client.auth={text[:40]}: must be required, requested or none")
    return text


def _checks_names(text: str) -> bool:
    if text.lower() not in {"", "https"}:
        raise InvalidSetting(
            f"ssl.endpoint.identification.algorithm={text[:40]}: must be https or nothing"
        )
    return bool(text)


def _list(text: str) -> tuple[str, ...]:
    return tuple(it.strip() for it in text.split(",") if it.strip())


def _protocols(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in PROTOCOLS:
            raise InvalidSetting(
                f"ssl.enabled.protocols: {name[:40]} is not spoken; {', '.join(PROTOCOLS)} are"
            )
    return names or PROTOCOLS


def _suites(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if name not in SUITES_OF_1_2 and name not in SUITES_OF_1_3:
            raise InvalidSetting(f"ssl.cipher.suites: {name[:60]} is not offered here")
    newest = SUITES_OF_1_3.intersection(names)
    if newest and newest != SUITES_OF_1_3:
        raise InvalidSetting(
            "ssl.cipher.suites: of TLS 1.3 all three suites must be named, or none: one of them "
            "cannot be left out here"
        )
    return names

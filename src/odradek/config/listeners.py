"""Listeners: `NAME://host:port`, several separated by commas, and how each is secured.

A name is upper case, as Kafka makes it. An empty host means all of the machine's addresses. Port 0
lets the kernel choose, which tests use.
"""

import re
from collections.abc import Mapping
from enum import Enum, IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.config.kinds import PORT, ConfigType, Kind, NotAllowed

_ENDPOINT = re.compile(
    rf"(?P<name>[^:/,\s]+)://\[?(?P<host>[0-9a-zA-Z\-%._:]*)\]?:(?P<port>{PORT})"
)
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]+")
_FORM: Final = "must be a list of NAME://host:port, separated by commas"


class SecurityProtocol(IntEnum):
    """What is spoken below Kafka's protocol; the numbers are those of the wire."""

    PLAINTEXT = 0
    SSL = 1
    SASL_PLAINTEXT = 2
    SASL_SSL = 3


MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
"""Those that are spoken here."""
NOT_SPOKEN: Final = MappingProxyType(
    {
        "GSSAPI": "Kerberos is not spoken here; use SCRAM-SHA-512 over TLS, or certificates",
    }
)
"""Kafka's other mechanisms, and what to do instead."""
TOKEN_ALGORITHMS: Final = (
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
)
"""By which tokens may be signed: with public keys, all of them."""
HAS_TLS: Final = frozenset({SecurityProtocol.SSL, SecurityProtocol.SASL_SSL})
HAS_SASL: Final = frozenset({SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL})


class Auto(Enum):
    """`advertised.listeners=auto`: each client is told the address that it connected to."""

    AUTO = "auto"


class Listener(NamedTuple):
    """An address to serve or to be found at."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.name}://{host}:{self.port}"


Listeners = tuple[Listener, ...]
Advertised = Listeners | Auto | None


def _parse_listeners(text: str) -> Listeners:
    found = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _ENDPOINT.fullmatch(item)
        if match is None:
            raise NotAllowed(f"{_FORM}; {item[:80]!r} is none")
        found.append(Listener(match["name"].upper(), match["host"], int(match["port"])))
    if not found:
        raise NotAllowed(_FORM)
    return tuple(found)


def _text(listeners: Listeners) -> str:
    return ",".join(map(str, listeners))


def listeners() -> Kind[Listeners]:
    """Where to listen."""
    return Kind(ConfigType.STRING, _parse_listeners, _text, f"{_FORM.removeprefix('must be ')}")


def advertised_listeners() -> Kind[Advertised]:
    """Where clients and brokers find this broker: as listed, or `auto`."""

    def parse(text: str) -> Advertised:
        return Auto.AUTO if text.lower() == Auto.AUTO.value else _parse_listeners(text)

    def write(value: Advertised) -> str:
        match value:
            case None:
                return ""
            case Auto():
                return value.value
            case _:
                return _text(value)

    allowed = "auto, or a list of NAME://host:port, separated by commas"
    return Kind(ConfigType.STRING, parse, write, allowed, may_be_unset=True)


def _pairs(text: str, form: str) -> dict[str, str]:
    """`a:1,b:2`; the last colon separates, so that an IPv6 address may stand before it."""
    found: dict[str, str] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        key, colon, value = item.rpartition(":")
        if not colon or not key.strip() or not value.strip():
            raise NotAllowed(f"must be a list of {form}; {item[:80]!r} is none")
        found[key.strip()] = value.strip()
    return found


def security_map() -> Kind[Mapping[str, SecurityProtocol]]:
    """Which protocol each listener's name stands for."""
    form = f"NAME:PROTOCOL with one of {', '.join(SecurityProtocol.__members__)}"

    def parse(text: str) -> Mapping[str, SecurityProtocol]:
        found = {}
        for name, protocol in _pairs(text, form).items():
            if protocol.upper() not in SecurityProtocol.__members__:
                raise NotAllowed(f"must be a list of {form}; {protocol[:80]!r} is none of them")
            found[name.upper()] = SecurityProtocol[protocol.upper()]
        return MappingProxyType(found)

    def write(value: Mapping[str, SecurityProtocol]) -> str:
        return ",".join(f"{name}:{protocol.name}" for name, protocol in value.items())

    return Kind(ConfigType.STRING, parse, write, f"a list of {form}")


def counts_by_host() -> Kind[Mapping[str, int]]:
    """A number for each host named."""
    form = "host:count"

    def parse(text: str) -> Mapping[str, int]:
        found = {}
        for host, count in _pairs(text, form).items():
            if not _HOST.fullmatch(host) or not re.fullmatch("[0-9]{1,9}", count):
                raise NotAllowed(f"must be a list of {form}; {f'{host}:{count}'[:80]!r} is none")
            found[host] = int(count)
        return MappingProxyType(found)

    def write(value: Mapping[str, int]) -> str:
        return ",".join(f"{host}:{count}" for host, count in value.items())

    return Kind(ConfigType.STRING, parse, write, f"a list of {form}, separated by commas")

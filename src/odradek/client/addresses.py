"""Addresses of brokers as people write them."""

import re
from typing import Final

from odradek.config.kinds import PORT
from odradek.model.errors import InvalidSetting
from odradek.ports import Address

DEFAULT_PORT: Final = 9092

_ADDRESS = re.compile(rf"(?P<host>\[[^\s\[\]]+\]|[^\s:\[\]]+)(:(?P<port>{PORT}))?")


def written(address: Address) -> str:
    """As people write it: an address of IPv6 in brackets."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def addresses(text: str) -> tuple[Address, ...]:
    """`host:port,host:port`; the port may be left out."""
    found = []
    for item in filter(None, (part.strip() for part in text.split(","))):
        match = _ADDRESS.fullmatch(item)
        if match is None:
            raise InvalidSetting(f"bootstrap-server: {item[:80]!r} is not host:port")
        found.append((match["host"].strip("[]"), int(match["port"] or DEFAULT_PORT)))
    if not found:
        raise InvalidSetting("bootstrap-server: no broker's address is given")
    return tuple(found)

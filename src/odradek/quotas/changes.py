"""What is set for an entity, as KIP-546 asks for it and alters it.

Pure. An entity is given by its parts: a user, a client id, both, or an address; a part whose name
is None stands for all that have nothing of their own.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final, NamedTuple

from odradek.model.errors import BrokerError, ErrorCode
from odradek.quotas.limits import Kind

USER: Final = "user"
CLIENT: Final = "client-id"
ADDRESS: Final = "ip"
CONNECTIONS: Final = "connection_creation_rate"
"""Of an address; the other settings are of users and clients."""

Parts = Mapping[str, str | None]

WHOLE: Final = {Kind.PRODUCED.value, Kind.FETCHED.value, CONNECTIONS}
"""Settings whose values have no fraction."""
EPSILON: Final = 1e-6
LONG_MAX: Final = (1 << 63) - 1
OF_CLIENTS: Final = frozenset(kind.value for kind in Kind)
OF_ADDRESSES: Final = frozenset({CONNECTIONS})


class InvalidQuota(BrokerError):
    """An entity, a setting or a value that cannot be."""

    code = ErrorCode.INVALID_REQUEST


class UnknownPart(BrokerError):
    """Something else than a user, a client or an address."""

    code = ErrorCode.UNSUPPORTED_VERSION


class Operation(NamedTuple):
    """One setting of an entity; None takes it away."""

    name: str
    value: float | None


def check_parts(types: Sequence[str]) -> None:
    """Refuses what does not go together."""
    for each in types:
        if each not in {USER, CLIENT, ADDRESS}:
            if not each:
                raise InvalidQuota("the type of an entity must not be empty")
            raise UnknownPart(f"quotas of {each!r} are not supported")
        if types.count(each) > 1:
            raise InvalidQuota(f"{each} is given twice")
    if ADDRESS in types and len(types) > 1:
        raise InvalidQuota("an address has no user and no client id")


def altered(
    parts: Parts, operations: Sequence[Operation], found: Mapping[str, str]
) -> dict[str, str]:
    """The settings of an entity once they are altered; what is no quota stays as it is."""
    names = OF_ADDRESSES if ADDRESS in parts else OF_CLIENTS
    after = dict(found)
    for name, value in operations:
        if value is None:
            after.pop(name, None)
            continue
        if name not in names:
            raise InvalidQuota(f"{name!r} is no quota of {' and '.join(parts)}")
        after[name] = _text(name, value)
    return after


def _text(name: str, value: float) -> str:
    """As Kafka writes it, who reads the same znode: a whole number has no fraction."""
    if not isfinite(value) or value > LONG_MAX:
        raise InvalidQuota(f"{name} must be a number, not {value}")
    if name in WHOLE:
        whole = int(value + EPSILON)
        if abs(whole - value) > EPSILON:
            raise InvalidQuota(f"{name} must be a whole number, not {value}")
        if whole < (0 if name == CONNECTIONS else 1):
            raise InvalidQuota(f"{name} must be greater than 0")
        return str(whole)
    if value <= 0:
        raise InvalidQuota(f"{name} must be greater than 0")
    return repr(float(value))


def values(settings: Mapping[str, str], names: frozenset[str]) -> dict[str, float]:
    """Those settings that are quotas and can be read."""
    found = {}
    for name in sorted(names & settings.keys()):
        try:
            value = float(settings[name])
        except ValueError:
            continue
        if isfinite(value) and value >= 0:
            found[name] = value
    return found


class AnyName:
    """Stands for every name, and for what has none."""


Name = str | AnyName | None


class Wanted(NamedTuple):
    """Entities that are asked for: by the names of their parts, or whatever they are."""

    names: Mapping[str, Name]
    is_strict: bool  # no entity with other parts

    def means(self, parts: Parts) -> bool:
        """Whether this entity is asked for."""
        if self.is_strict and parts.keys() != self.names.keys():
            return False
        return all(
            kind in parts and (isinstance(name, AnyName) or name == parts[kind])
            for kind, name in self.names.items()
        )

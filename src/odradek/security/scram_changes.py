"""What may be asked of users' SCRAM credentials (KIP-554), and what becomes of their settings."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.model.errors import BrokerError, ErrorCode
from odradek.security.errors import UnsupportedMechanism
from odradek.security.mechanisms.scram import (
    BY_NUMBER,
    ROUNDS_MAX,
    ROUNDS_MIN,
    SCRAMS,
    Scram,
    ScramCredential,
)

SALT_BYTES_MAX: Final = 1_024


class UnacceptableCredential(BrokerError):
    """Too few or too many iterations, or no name."""

    code = ErrorCode.UNACCEPTABLE_CREDENTIAL


class DuplicateCredential(BrokerError):
    """One request changes a credential twice."""

    code = ErrorCode.DUPLICATE_RESOURCE


class NoSuchCredential(BrokerError):
    """The user has none for this mechanism."""

    code = ErrorCode.RESOURCE_NOT_FOUND


class Deletion(NamedTuple):
    """A user's credential for one mechanism shall go."""

    number: int


class Upsertion(NamedTuple):
    """A user's credential for one mechanism shall be this."""

    number: int
    rounds: int
    salt: bytes
    salted_password: bytes

    def __repr__(self) -> str:
        return f"Upsertion(number={self.number}, rounds={self.rounds})"


def scram_of(number: int) -> Scram:
    """The mechanism of this number."""
    found = BY_NUMBER.get(number)
    if found is None:
        raise UnsupportedMechanism("Unknown SCRAM mechanism")
    return found


def changed(
    user: str, changes: list[Deletion | Upsertion], settings: Mapping[str, str]
) -> dict[str, str]:
    """A user's settings afterwards; raises why they stay."""
    if not user:
        raise UnacceptableCredential("Username must not be empty")
    if len({it.number for it in changes}) < len(changes):
        raise DuplicateCredential("A user credential cannot be altered twice in the same request")
    after = dict(settings)
    for change in changes:
        scram = scram_of(change.number)
        if isinstance(change, Upsertion):
            after[scram.name] = _credential(scram, change).text()
        elif after.pop(scram.name, None) is None:
            raise NoSuchCredential("Attempt to delete a user credential that does not exist")
    return after


def _credential(scram: Scram, change: Upsertion) -> ScramCredential:
    if change.rounds < ROUNDS_MIN:
        raise UnacceptableCredential(f"Too few iterations: {ROUNDS_MIN} is the least")
    if change.rounds > ROUNDS_MAX:
        raise UnacceptableCredential(f"Too many iterations: {ROUNDS_MAX} is the most")
    if not 0 < len(change.salt) <= SALT_BYTES_MAX:
        raise UnacceptableCredential(f"The salt must have 1 to {SALT_BYTES_MAX} bytes")
    if len(change.salted_password) != scram.size:
        raise UnacceptableCredential(f"The salted password must have {scram.size} bytes")
    return scram.credential(change.salted_password, change.salt, change.rounds)


def described(settings: Mapping[str, str]) -> list[tuple[int, int]]:
    """The mechanisms of a user, by their numbers, with the iterations of each."""
    found = []
    for scram in SCRAMS.values():
        credential = ScramCredential.parse(settings.get(scram.name, ""))
        if credential is not None:
            found.append((scram.number, credential.rounds))
    return found

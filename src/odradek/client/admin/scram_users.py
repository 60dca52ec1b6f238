"""SCRAM credentials of users, asked of a cluster. A password is salted here, and does not leave."""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.errors import InvalidSetting
from odradek.security.mechanisms.scram import BY_NUMBER, ROUNDS_MIN, SCRAMS, Scram
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    UserName,
)

SALT_BYTES: Final = 24
_PART = re.compile(r"(iterations|password)=(.*)")


class NewCredential(NamedTuple):
    """What a user shall have for one mechanism."""

    scram: Scram
    password: str
    rounds: int = ROUNDS_MIN

    def __repr__(self) -> str:
        return f"NewCredential({self.scram.name}, rounds={self.rounds})"

    def salted(self, salt: bytes) -> bytes:
        """What is sent instead of the password."""
        return self.scram.salted(self.password, salt, self.rounds)


class KnownCredential(NamedTuple):
    """What is told of one."""

    user: str
    mechanism: str
    iterations: int


def scram_named(name: str) -> Scram:
    """The mechanism of this name."""
    found = SCRAMS.get(name.upper())
    if found is None:
        raise InvalidSetting(f"{name[:40]}: must be {' or '.join(SCRAMS)}")
    return found


def parse_credential(mechanism: str, text: str) -> NewCredential:
    """As `kafka-configs` has it: `iterations=8192,password=secret`, the iterations if wanted."""
    found = {"iterations": str(ROUNDS_MIN)}
    for part in text.split(",", 1) if text.startswith("iterations") else [text]:
        match = _PART.fullmatch(part.strip())
        if match is None:
            raise InvalidSetting(f"{mechanism}: must be [iterations=NUMBER,password=SECRET]")
        found[match[1]] = match[2]
    if not found.get("password") or not found["iterations"].isdecimal():
        raise InvalidSetting(f"{mechanism}: must be [iterations=NUMBER,password=SECRET]")
    return NewCredential(scram_named(mechanism), found["password"], int(found["iterations"]))


async def alter(
    cluster: Cluster,
    user: str,
    new: Sequence[tuple[NewCredential, bytes]] = (),
    gone: Sequence[Scram] = (),
) -> None:
    """Credentials, each with its salt, and mechanisms that the user loses; by the controller."""
    request = AlterUserScramCredentialsRequest(
        [ScramCredentialDeletion(user, it.number) for it in gone],
        [
            ScramCredentialUpsertion(user, it.scram.number, it.rounds, salt, it.salted(salt))
            for it, salt in new
        ],
    )

    async def attempt() -> Any:
        answer = await (await cluster.controller()).ask(request)
        for row in answer.results:
            check(row.error_code, row.error_message, about=f"user {row.user!r}")

    await cluster.patiently(attempt)


async def describe(cluster: Cluster, users: Sequence[str] | None = None) -> list[KnownCredential]:
    """Of these users, or of all."""
    names = None if users is None else [UserName(it) for it in users]
    answer = await (await cluster.controller()).ask(DescribeUserScramCredentialsRequest(names))
    check(answer.error_code, answer.error_message)
    found = []
    for row in answer.results:
        check(row.error_code, row.error_message)
        found += [
            KnownCredential(row.user, BY_NUMBER[it.mechanism].name, it.iterations)
            for it in row.credential_infos
            if it.mechanism in BY_NUMBER
        ]
    return found

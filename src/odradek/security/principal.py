"""The principal of a connection: the name under which a client is known once it has proven it."""

from typing import Final, NamedTuple

USER: Final = "User"


class Principal(NamedTuple):
    """As Kafka writes it: `User:alice`."""

    type: str
    name: str

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS: Final = Principal(USER, "ANONYMOUS")
"""Every client of a listener that asks for no name."""


def user(name: str) -> Principal:
    """The principal of a user."""
    return Principal(USER, name)

"""Which limit holds for whom: the most specific of Kafka's eight levels.

Names are those of the tree, where each is written so that it may be a znode's; `<default>` stands
for all that have nothing of their own.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple

from odradek.model.names import DEFAULT_ENTITY

ANY_ONE: Final = ""
"""In a key: all of them together."""


class Kind(Enum):
    """What is limited, by the name of its setting."""

    PRODUCED = "producer_byte_rate"
    FETCHED = "consumer_byte_rate"
    TIME = "request_percentage"
    MUTATIONS = "controller_mutation_rate"


class Owner(NamedTuple):
    """Whose limit it is: a user, a client by its id, or a client of a user."""

    user: str | None
    client: str | None


class Share(NamedTuple):
    """Who uses up a limit together: what is counted is counted by it."""

    user: str
    client: str


class Limit(NamedTuple):
    """So much a second, and for whom."""

    value: float
    share: Share


class Limits:
    """All that are set. An answer is remembered until one of them changes."""

    def __init__(self) -> None:
        self._by_kind: dict[Kind, dict[Owner, float]] = {kind: {} for kind in Kind}
        self._found: dict[tuple[Kind, str, str], Limit | None] = {}

    @property
    def is_empty(self) -> bool:
        """Whether no client is limited in anything."""
        return not any(self._by_kind.values())

    def put(self, owner: Owner, values: Mapping[Kind, float]) -> None:
        """All that hold for this owner from now on."""
        self._found.clear()
        for kind, owned in self._by_kind.items():
            if kind in values:
                owned[owner] = values[kind]
            else:
                owned.pop(owner, None)

    def find(self, kind: Kind, user: str, client: str) -> Limit | None:
        """The one that holds for a client of a user; None where there is none."""
        key = (kind, user, client)
        if key not in self._found:
            if len(self._found) >= REMEMBERED_MAX:
                self._found.clear()
            self._found[key] = self._look_up(self._by_kind[kind], user, client)
        return self._found[key]

    @staticmethod
    def _look_up(owned: Mapping[Owner, float], user: str, client: str) -> Limit | None:
        if not owned:
            return None
        both, of_user, of_client = Share(user, client), Share(user, ANY_ONE), Share(ANY_ONE, client)
        for owner, share in (
            (Owner(user, client), both),
            (Owner(user, DEFAULT_ENTITY), both),
            (Owner(user, None), of_user),
            (Owner(DEFAULT_ENTITY, client), both),
            (Owner(DEFAULT_ENTITY, DEFAULT_ENTITY), both),
            (Owner(DEFAULT_ENTITY, None), of_user),
            (Owner(None, client), of_client),
            (Owner(None, DEFAULT_ENTITY), of_client),
        ):
            if owner in owned:
                return Limit(owned[owner], share)
        return None


REMEMBERED_MAX: Final = 10_000
"""Clients may call themselves by a new name each time."""

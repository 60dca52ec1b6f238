"""The states of a transactional id, and which may follow which: one table for both versions."""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class State(IntEnum):
    """As they are numbered in records."""

    EMPTY = 0  # it has an identity, and no transaction yet
    ONGOING = 1  # there are partitions in it
    PREPARE_COMMIT = 2  # decided; markers are under way
    PREPARE_ABORT = 3  # likewise
    COMPLETE_COMMIT = 4  # every partition has its marker
    COMPLETE_ABORT = 5  # likewise
    DEAD = 6  # never written: an id that expires has no record
    PREPARE_EPOCH_FENCE = 7  # likewise: the abort under a higher epoch is one record

    @property
    def title(self) -> str:
        """As operators see it."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        """Whether markers are under way."""
        return self in PREPARED

    @property
    def is_at_rest(self) -> bool:
        """Whether there is no transaction: the next one may begin."""
        return self in AT_REST


PREPARED: Final = frozenset({State.PREPARE_COMMIT, State.PREPARE_ABORT})
AT_REST: Final = frozenset({State.EMPTY, State.COMPLETE_COMMIT, State.COMPLETE_ABORT})
WRITTEN: Final = AT_REST | PREPARED | {State.ONGOING}
"""Those that a record may have."""

PREDECESSORS: Final[Mapping[State, frozenset[State]]] = MappingProxyType(
    {
        State.EMPTY: AT_REST,
        State.ONGOING: AT_REST | {State.ONGOING},
        State.PREPARE_COMMIT: frozenset({State.ONGOING}),
        # in version 2 also a transaction may be aborted that has no partition yet
        State.PREPARE_ABORT: AT_REST | {State.ONGOING},
        State.COMPLETE_COMMIT: frozenset({State.PREPARE_COMMIT}),
        State.COMPLETE_ABORT: frozenset({State.PREPARE_ABORT}),
    }
)
"""A new id begins in EMPTY."""

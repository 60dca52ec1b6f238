"""What a copier is told when it is started, and what it says and how it ends."""

from __future__ import annotations

import itertools
import random
import time
from enum import Enum
from typing import Final, NamedTuple

from tests.live.copiers.marks import Fate, Transaction

PARTITIONS: Final = 4
COORDINATORS: Final = 3
"""Partitions of each topic that coordinators keep."""
RECORDS_MAX: Final = 40  # of one transaction
DROPPED: Final = 0.15
"""How many of the transactions are aborted on purpose."""
SESSION_MS: Final = 4_000
TRANSACTION_MS: Final = 6_000
LEFT_MS: Final = 4_000
"""The time-out of the transaction that is left open."""
PATIENCE_SECONDS: Final = 30
ENDED: Final = "ended:"
"""Begins the last line of one that can do no more."""
REPLACED: Final = 3
"""Its exit status: another process has to begin with its name."""


class Orders(NamedTuple):
    """The arguments of its process, in their order."""

    bootstrap: str
    source: str
    target: str
    ledger: str
    group: str
    name: str


class Said(Enum):
    """The first word of a line that a copier says; the name of the transaction is the second."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    OPEN = "open"


def say(what: Said, transaction: Transaction) -> None:
    """At once: it may be killed the next moment."""
    print(what.value, transaction.name.decode(), flush=True)


class Transactions:
    """Their names, which no other process has, and what becomes of each."""

    def __init__(self, name: str) -> None:
        self._life = f"{name}-{time.time_ns():x}"
        self._random = random.Random(self._life)
        self._numbers = itertools.count()

    def next(self, count: int) -> Transaction:
        """Of so many records; by chance one that is to be aborted."""
        fate = Fate.DROPPED if self._random.random() < DROPPED else Fate.KEPT
        return self.named(count, fate)

    def named(self, count: int, fate: Fate) -> Transaction:
        """One of this fate."""
        return Transaction(f"{self._life}-{next(self._numbers)}".encode(), count, fate)

    def ledger(self) -> int:
        """The partition of the ledger that the next entry goes to."""
        return self._random.randrange(PARTITIONS)

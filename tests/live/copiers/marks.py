"""What a copied record says of itself: its number, and the transaction that it belongs to.

A transaction names itself, how many records it copies, and whether it is going to be committed. In
another topic, the ledger, it writes the same without a number: so each has two partitions at least,
and who sees a part of it sees that something is missing.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Self


class Fate(Enum):
    """What the copier means to do with it; a fault may decide otherwise."""

    KEPT = b"kept"
    DROPPED = b"dropped"  # aborted on purpose
    LEFT = b"left"  # never ended


class Transaction(NamedTuple):
    """One of a copier."""

    name: bytes
    records: int
    fate: Fate


class Mark(NamedTuple):
    """Of one record."""

    number: int
    transaction: Transaction

    def written(self) -> bytes:
        """As the value of a record."""
        name, records, fate = self.transaction
        return b"%d %s %d %s" % (self.number, name, records, fate.value)

    @classmethod
    def read(cls, value: bytes) -> Self:
        """From the value of a record."""
        number, name, records, fate = value.split()
        return cls(int(number), Transaction(name, int(records), Fate(fate)))


NO_NUMBER = 0
"""In the ledger."""

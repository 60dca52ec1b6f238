"""A member of a group, as it is known while it lives."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from odradek.coordinator.decision import Caller, Ticket
from odradek.model.units import Millis


class Protocol(NamedTuple):
    """A way of sharing out partitions that a member knows, and what it says to the leader."""

    name: str
    metadata: bytes


PROTOCOL_BYTES: Final = 100
"""What a protocol costs beside its bytes."""


def bytes_kept(protocols: Iterable[Protocol]) -> int:
    """What a member has us keep."""
    return sum(PROTOCOL_BYTES + len(name) + len(metadata) for name, metadata in protocols)


@dataclass(slots=True, eq=False)
class Member:
    """One consumer; of its tickets at most one is set."""

    id: str
    instance_id: str | None  # static members have one (KIP-345)
    caller: Caller
    rebalance_timeout: Millis
    session_timeout: Millis
    protocols: tuple[Protocol, ...]  # those it likes best come first
    assignment: bytes = b""
    joining: Ticket | None = None  # its JoinGroup, which waits for the others
    syncing: Ticket | None = None  # its SyncGroup, which waits for the leader's
    unheard: bool = False  # it is new, and does not know its id before JoinGroup is answered

    def metadata(self, protocol: str | None) -> bytes:
        """What it says under this protocol; nothing under one that it does not know."""
        return next((known.metadata for known in self.protocols if known.name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        """The one of these that it likes best."""
        return next(known.name for known in self.protocols if known.name in candidates)

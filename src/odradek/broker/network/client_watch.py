"""Who asks how much: requests and bytes by client id and address, for as long as somebody watches.

Nothing is counted for it at other times.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.network.quotas import Paused
from odradek.model.units import Millis
from odradek.ports import size_of

CLIENTS_MAX: Final = 1_000
"""Clients choose their ids: of more than these the rest is one row."""


class ClientName(NamedTuple):
    """A client, as its requests name it, at an address."""

    client_id: str
    address: str


OTHERS: Final = ClientName("(others)", "")


@dataclass(slots=True)
class Asked:
    """What one client has asked for, as far as it was answered."""

    software: str = ""
    requests: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    throttle: Millis = Millis(0)  # the longest pause that it was told of, or is in
    connections: set[Client] = field(default_factory=set)


class ClientWatch:
    """One look, from its beginning to its end."""

    def __init__(self) -> None:
        self._clients: dict[ClientName, Asked] = {}

    def answered(self, pending: PendingRequest) -> None:
        """An answer has left."""
        client = pending.connection
        asked = self._of(ClientName(pending.client_id, client.peer[0]))
        asked.software = " ".join(client.software).strip() or asked.software
        asked.requests += 1
        asked.bytes_in += len(pending.frame)
        asked.bytes_out += sum(map(size_of, pending.chunks or ()))
        asked.connections.add(client)
        if pending.charge is not None:
            asked.throttle = max(asked.throttle, pending.charge.told)

    def add_paused(self, paused: Iterable[Paused], now: Millis) -> None:
        """Who has to pause at the end, and may have asked for nothing all the time."""
        for it in paused:
            asked = self._of(ClientName(it.client_id, it.address))
            asked.throttle = max(asked.throttle, Millis(it.until - now))

    def _of(self, name: ClientName) -> Asked:
        found = self._clients.get(name)
        if found is None:
            is_full = len(self._clients) >= CLIENTS_MAX
            found = self._clients.setdefault(OTHERS if is_full else name, Asked())
        return found

    def __iter__(self) -> Iterator[tuple[ClientName, Asked]]:
        """The busiest first."""
        by_bytes = sorted(
            self._clients.items(), key=lambda it: it[1].bytes_in + it[1].bytes_out, reverse=True
        )
        return iter(by_bytes)

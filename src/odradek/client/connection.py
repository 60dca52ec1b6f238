"""A client's connection on the loop: `peers.Connection` with negotiated versions."""

from typing import Any

from odradek.client.connection_limits import VERSIONS_MAX, patience
from odradek.client.errors import check
from odradek.peers import connection as peers
from odradek.peers.requests import encode_request
from odradek.peers.versions import NegotiatedVersions
from odradek.ports import Address, Clock, Network
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.schema import Request


class Connection:
    """Asks one broker."""

    def __init__(self, peer: peers.Connection, versions: NegotiatedVersions) -> None:
        self._peer = peer
        self._versions = versions

    @classmethod
    async def open(
        cls, network: Network, clock: Clock, address: Address, client_id: str
    ) -> "Connection":
        """Connects, and learns what the broker speaks."""
        peer = await peers.Connection(clock, address, client_id).open(network)
        try:
            answer = await peer.ask(ApiVersionsRequest(), 0)
            check(answer.error_code)
        except BaseException:
            peer.close()
            raise
        return cls(peer, NegotiatedVersions.of(answer, VERSIONS_MAX))

    @property
    def is_open(self) -> bool:
        """Whether it may be asked."""
        return self._peer.is_open

    def close(self) -> None:
        """Ends it; requests in flight fail."""
        self._peer.close()

    async def ask(
        self, request: Request, version: int | None = None, *, at_most: int | None = None
    ) -> Any:
        """The answer to a request in this version, or in the newest up to `at_most`."""
        if version is None:
            version = self._versions.newest(request.KEY, at_most=at_most)
        return await self._peer.ask(request, version, timeout_ms=patience(request))

    async def tell(self, request: Request) -> None:
        """A request that is not answered: Produce with acks=0."""
        self._peer.post(encode_request(request, self._versions.newest(request.KEY)))

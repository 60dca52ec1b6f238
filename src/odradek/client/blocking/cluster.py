"""The blocking shell's connections and metadata: whom to ask, and when to ask again."""

from collections.abc import Callable, Collection, Iterable
from time import sleep
from typing import Any, TypeVar

from odradek.client.addresses import addresses
from odradek.client.blocking.connection import BlockingConnection
from odradek.client.blocking.security import BlockingSecurity
from odradek.client.blocking.wire import now
from odradek.client.cluster_metadata import ClusterMetadata
from odradek.client.coordinators import (
    COORDINATOR_VERSION,
    GROUP,
    check_coordinator,
    find_coordinator,
    read_coordinator,
)
from odradek.client.retries import PATIENCE, Retries
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND, Millis
from odradek.peers.errors import ConnectionGone
from odradek.ports import Address
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.schema import Request

T = TypeVar("T")


class BlockingCluster:
    """What a blocking client has learned, and its connections: one for each broker."""

    def __init__(
        self,
        bootstrap: str,
        client_id: str,
        patience: Millis = PATIENCE,
        security: BlockingSecurity | None = None,
    ) -> None:
        self.metadata = ClusterMetadata()
        self.patience = patience
        self._bootstrap = addresses(bootstrap)
        self._client_id = client_id
        self._security = security
        self._connections: dict[Address, BlockingConnection] = {}
        self._coordinators: dict[tuple[str, int], Address] = {}  # by name and kind

    def close(self) -> None:
        """Closes every connection."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    # Whom to ask

    def connection(self, address: Address) -> BlockingConnection:
        """To this address; made once, and again when it is gone."""
        found = self._connections.get(address)
        if found is None or not found.is_open:
            others = max(len(self.metadata.brokers), len(self._bootstrap))
            found = BlockingConnection(
                address,
                self._client_id,
                self._security,
                opening_ms=self._at_least_a_second(self.patience // others),
                answer_ms_max=self._at_least_a_second(self.patience),
            )
            self._connections[address] = found
        return found

    @staticmethod
    def _at_least_a_second(millis: int) -> Millis:
        """Who has less patience only does not try again."""
        return Millis(max(millis, SECOND))

    def any(self) -> BlockingConnection:
        """The first that can be had: brokers that are known, then the bootstrap addresses."""
        gone: ConnectionGone | None = None
        known = (it.address for it in self.metadata.brokers.values())
        for address in dict.fromkeys((*known, *self._bootstrap)):
            try:
                return self.connection(address)
            except ConnectionGone as error:
                gone = error
        assert gone is not None, "there is one bootstrap address at least"
        raise gone

    def broker(self, broker: BrokerId) -> BlockingConnection:
        """To one broker."""
        endpoint = self.metadata.brokers.get(broker)
        if endpoint is None:
            raise ConnectionGone(f"broker {broker} is not known")
        return self.connection(endpoint.address)

    # Metadata

    def refresh(self, topics: Collection[str] | None) -> ClusterMetadata:
        """Asks for these topics, None: all; what the answer names, and nothing else."""
        wanted = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        answer = self.any().ask(request)
        self.metadata = self.metadata.after(answer)
        told = frozenset(row.name for row in answer.topics if row.name is not None)
        return self.metadata.of_topics(told)

    def learn(self, topics: Iterable[str]) -> None:
        """Asks for those of these topics that are not known."""
        unknown = sorted({it for it in topics if it not in self.metadata.topics})
        if unknown:
            self.refresh(unknown)

    def forget(self, topics: Iterable[str]) -> None:
        """What is known of them was wrong."""
        for topic in topics:
            self.metadata = self.metadata.without_topic(topic)

    # Patience

    def patiently(self, attempt: Callable[[], T]) -> T:
        """Tries again while that can help and patience lasts."""
        retries = Retries(now(), self.patience)
        while True:
            try:
                return attempt()
            except BrokerError as error:
                pause(retries.pause_after(error, now()))

    def ask_coordinator(
        self,
        name: str,
        request: Request,
        kind: int = GROUP,
        *,
        version: int | None = None,
        checked: Callable[[Any], None] = check_coordinator,
    ) -> Any:
        """Asks the coordinator of a group, or of a transactional id, wherever it moves.

        `checked` raises what the answer refuses; what can be mended by asking again is asked again.
        """

        def attempt() -> Any:
            try:
                answer = self._coordinator(name, kind).ask(request, version)
                checked(answer)
            except BrokerError:
                self._coordinators.pop((name, kind), None)
                raise
            return answer

        return self.patiently(attempt)

    def _coordinator(self, name: str, kind: int) -> BlockingConnection:
        address = self._coordinators.get((name, kind))
        if address is None:
            answer = self.any().ask(find_coordinator(name, kind), COORDINATOR_VERSION)
            address = self._coordinators[name, kind] = read_coordinator(answer)
        return self.connection(address)


def pause(duration: Millis) -> None:
    """Waits before the next attempt."""
    sleep(duration / SECOND)

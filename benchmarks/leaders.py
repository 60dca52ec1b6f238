"""Who leads many partitions at this moment: asked of each broker, at next to no cost to it.

Two partitions of each topic stand for all; `check_all` looks at the rest once the clock has
stopped. A partition is served when a broker says where its log starts. It is followed when that
broker knows its end, for which a follower must have cut its log and fetched in the new epoch.
"""

from collections.abc import Iterable
from contextlib import suppress
from time import perf_counter, sleep
from typing import Final

from odradek.client.blocking.connection import BlockingConnection
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.peers.errors import ConnectionGone
from odradek.ports import Address
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

EARLIEST: Final = -2
LATEST: Final = -1
VERSION: Final = 7
LOOK_SECONDS: Final = 0.02
PATIENCE_SECONDS: Final = 90


class Leaders:
    """Of topics that all have as many partitions."""

    def __init__(self, addresses: dict[int, Address], topics: list[str], partitions: int) -> None:
        self._addresses = addresses
        self._topics = topics
        self._partitions = partitions
        self._connections: dict[int, BlockingConnection] = {}

    def await_served(self, brokers: Iterable[int]) -> tuple[float, float]:
        """Seconds until these brokers serve all; and until followers have joined them."""
        began, asked, sample = perf_counter(), list(brokers), [0, 1]
        self._await(asked, sample, EARLIEST)
        served = perf_counter() - began
        self._await(asked, sample, LATEST)
        return served, perf_counter() - began

    def check_all(self, brokers: Iterable[int]) -> None:
        """Every partition is led by exactly one of these."""
        everything = range(self._partitions)
        led = [it for broker in brokers for it in self._served(broker, everything, EARLIEST)]
        assert len(led) == len(set(led)) == len(self._topics) * self._partitions, len(led)

    def _await(self, brokers: list[int], numbers: list[int], where: int) -> None:
        missing = {TopicPartition(topic, it) for topic in self._topics for it in numbers}
        end = perf_counter() + PATIENCE_SECONDS
        while missing:
            for broker in brokers:
                with suppress(ConnectionGone):
                    missing -= self._served(broker, numbers, where)
            assert perf_counter() < end, f"{len(missing)} are not served"
            if missing:
                sleep(LOOK_SECONDS)

    def _served(self, broker: int, numbers: Iterable[int], where: int) -> set[TopicPartition]:
        rows = [ListOffsetsPartition(it, -1, where) for it in numbers]
        request = ListOffsetsRequest(-1, topics=[ListOffsetsTopic(it, rows) for it in self._topics])
        answer = self._connection(broker).ask(request, VERSION)
        return {
            TopicPartition(topic.name, row.partition_index)
            for topic in answer.topics
            for row in topic.partitions
            if row.error_code == ErrorCode.NONE
        }

    def _connection(self, broker: int) -> BlockingConnection:
        found = self._connections.get(broker)
        if found is None or not found.is_open:
            found = BlockingConnection(self._addresses[broker], "benchmark")
            self._connections[broker] = found
        return found

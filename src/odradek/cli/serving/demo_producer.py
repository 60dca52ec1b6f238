"""The producer of `odradek demo`: one record after the other, each until it is acknowledged.

Then it is the reader: what was acknowledged is what must be there, each record once.
"""

import threading
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.client.cluster import ClientDeps, Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.producer import Producer
from odradek.client.records.reader import Reader
from odradek.model.ids import TopicPartition
from odradek.model.units import Millis
from odradek.ports import Address
from odradek.runtime.doors.clock import SystemClock
from odradek.runtime.doors.network import SystemNetwork
from odradek.testing.loop_thread import LoopThread

LATEST: Final = -1
END_SECONDS: Final = 60.0


class Compared(NamedTuple):
    """How many records were acknowledged, and what of them was found."""

    acknowledged: int
    read: int
    missing: int
    doubled: int


class DemoProducer:
    """Produces in a thread of its own, until `end`."""

    def __init__(self, brokers: Sequence[Address], topic: str) -> None:
        self.acknowledged = 0
        self._brokers, self._topic = brokers, topic
        self._clock = SystemClock()
        self._gap = Millis(0)
        self._last = self._clock.monotonic()
        self._is_over = False
        self._more = threading.Condition()
        self._thread = LoopThread("producer", self._produce)

    def await_more(self, records: int = 1) -> None:
        """Returns once so many more are acknowledged."""
        with self._more:
            wanted = self.acknowledged + records
            if not self._more.wait_for(lambda: self.acknowledged >= wanted, END_SECONDS):
                raise TimeoutError(f"nothing is acknowledged: {self._thread.failure}")

    def begin_gap(self) -> None:
        """What comes to pass from now on counts."""
        self._gap = Millis(0)

    @property
    def gap(self) -> Millis:
        """The longest time between two acknowledgements since then."""
        return self._gap

    def end(self) -> None:
        """With the record that is under way."""
        self._is_over = True
        self._thread.join()
        if self._thread.failure is not None:
            raise self._thread.failure

    def compare(self) -> Compared:
        """Reads all, and looks for what was acknowledged."""
        found: Counter[bytes] = Counter()

        async def read() -> None:
            cluster = self._cluster()
            try:
                count = len((await cluster.topic(self._topic)).partitions)
                partitions = [TopicPartition(self._topic, it) for it in range(count)]
                ends = await offsets_at(cluster, partitions, LATEST)
                reader = Reader(cluster, dict.fromkeys(partitions, 0))
                while any(reader.positions[it] < ends[it] for it in partitions):
                    found.update(it.record.value or b"" for it in await reader.poll())
            finally:
                cluster.close()

        thread = LoopThread("reader", read)
        thread.join()
        if thread.failure is not None:
            raise thread.failure
        missing = sum(_value(it) not in found for it in range(self.acknowledged))
        doubled = sum(count - 1 for count in found.values())
        return Compared(self.acknowledged, found.total(), missing, doubled)

    def _cluster(self) -> Cluster:
        return Cluster(ClientDeps(SystemNetwork(), self._clock), self._brokers, "odradek-demo")

    async def _produce(self) -> None:
        cluster = self._cluster()
        producer = Producer(cluster)
        try:
            while not self._is_over:
                producer.add(
                    await producer.partition_for(self._topic, None), _value(self.acknowledged)
                )
                await producer.flush()
                now = self._clock.monotonic()
                self._gap, self._last = Millis(max(self._gap, now - self._last)), now
                with self._more:
                    self.acknowledged += 1
                    self._more.notify_all()
        finally:
            cluster.close()


def _value(number: int) -> bytes:
    return f"order {number}".encode()

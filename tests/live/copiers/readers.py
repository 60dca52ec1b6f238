"""A reader that reads from the beginning on while copiers write, in one isolation level."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, Self

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

from odradek.model.ids import TopicPartition as Partition

COMMITTED: Final = "read_committed"
UNCOMMITTED: Final = "read_uncommitted"


class Watcher:
    """All records of these partitions, each with its offset, in the order in which they came."""

    def __init__(self, bootstrap: str, partitions: Iterable[Partition], isolation: str) -> None:
        self.found: dict[Partition, list[tuple[int, bytes]]] = defaultdict(list)
        self.failed: list[str] = []
        self._ends: dict[Partition, int] = {}  # up to where it has read
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "watchers",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",  # one that began elsewhere would hide a loss
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "reconnect.backoff.max.ms": 100,
                "socket.timeout.ms": 4_000,
            }
        )
        self._consumer.assign([TopicPartition(*it, OFFSET_BEGINNING) for it in partitions])
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stopping.set()
        self._thread.join()
        self._consumer.close()

    def count(self, partition: Partition) -> int:
        """How many records it has of this one."""
        return len(self.found[partition])

    def has_read(self, ends: Mapping[Partition, int]) -> bool:
        """Up to these offsets."""
        return all(self._ends.get(it, 0) >= end for it, end in ends.items())

    def _run(self) -> None:
        while not self._stopping.is_set():
            for message in self._consumer.consume(1_000, timeout=0.1):
                error = message.error()
                where = Partition(str(message.topic()), int(message.partition() or 0))
                if error is None:
                    self.found[where].append((message.offset() or 0, message.value() or b""))
                elif error.code() == KafkaError._PARTITION_EOF:
                    self._ends[where] = message.offset() or 0
                elif not error.retriable():
                    self.failed.append(str(error))

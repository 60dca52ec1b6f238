"""Topics for tests: made, filled with records of today, and read by Spark in two ways."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

COMMON: Final = ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")


def now_ms() -> int:
    """Brokers delete what is older than a week: dates are of today."""
    return int(time.time() * 1000)


class Topics:
    """The topics of one test at one broker."""

    def __init__(self, bootstrap: str, test: str) -> None:
        self.bootstrap = bootstrap
        self._prefix = re.sub(r"[^a-zA-Z0-9._-]+", "-", test)[:80]
        self.admin = AdminClient({"bootstrap.servers": bootstrap})

    def make(self, name: str = "t", partitions: int = 1, **settings: str) -> str:
        """A new topic; a `_` in a setting's name stands for its dot."""
        topic = f"{self._prefix}.{name}"
        config = {key.replace("_", "."): value for key, value in settings.items()}
        for _ in range(200):
            try:
                self._wait(
                    self.admin.create_topics([NewTopic(topic, partitions, 1, config=config)])
                )
            except KafkaException as error:
                if "is being deleted" not in str(error):
                    raise
                time.sleep(0.05)
            else:
                return topic
        raise AssertionError(f"{topic} is still being deleted")

    def delete(self, topic: str) -> None:
        """Returns when it is gone."""
        self._wait(self.admin.delete_topics([topic]))
        for _ in range(200):
            if topic not in self.admin.list_topics(timeout=10).topics:
                return
            time.sleep(0.05)
        raise AssertionError(f"{topic} is still there")

    def widen(self, topic: str, partitions: int) -> None:
        """More partitions."""
        self._wait(self.admin.create_partitions([NewPartitions(topic, partitions)]))

    def fill(self, topic: str, rows: Sequence[Mapping[str, Any]], **settings: Any) -> None:
        """Sends rows: `value`, and `key`, `partition`, `headers`, `timestamp` where given."""
        chosen = {key.replace("_", "."): value for key, value in settings.items()}
        producer = Producer({"bootstrap.servers": self.bootstrap, "linger.ms": 5, **chosen})
        for index, row in enumerate(rows):
            options = {"partition": 0, "timestamp": now_ms() + index, **row}
            producer.produce(topic, **options)
            if index % 10_000 == 0:
                producer.poll(0)
        assert producer.flush(60) == 0

    def fill_numbers(self, topic: str, count: int, *, partition: int = 0, first: int = 0) -> None:
        """So many records whose values are numbers, in one batch: the flush alone sends it."""
        self.fill(
            topic,
            [{"value": b"%d" % (first + i), "partition": partition} for i in range(count)],
            linger_ms=60_000,
        )

    def options(self, topic: str, **more: Any) -> dict[str, str]:
        """The options of a reader of this topic; a `__` stands for a dot."""
        chosen = {key.replace("__", "."): str(value) for key, value in more.items()}
        return {"kafka.bootstrap.servers": self.bootstrap, "subscribe": topic, **chosen}

    @staticmethod
    def _wait(futures: Mapping[str, Any]) -> None:
        for future in futures.values():
            future.result(30)


def rows(frame: Any) -> list[tuple[Any, ...]]:
    """All rows in the order of the log."""
    return [tuple(row) for row in frame.orderBy("topic", "partition", "offset").collect()]

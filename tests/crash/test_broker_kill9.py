"""`kill -9` of a broker while producers write: nothing that was acknowledged is lost.

Each seed is one death of a broker that all seeds share, so that what it holds grows, and its logs,
its groups and its ZooKeeper are loaded again and again. `KILLS=3000:3100` in the environment tries
other seeds; a seed's choices are the same in every run, the moment of death is not.
"""

import os
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from tests.compat.broker_process import OdradekBroker, eventually
from tests.compat.librdkafka import SECONDS_MAX, create_topic, quiet, read_all

FIRST, LAST = map(int, os.environ.get("KILLS", "0:8").split(":"))
PARTITIONS: Final = 2
BURST: Final = 50
CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OdradekBroker]:
    """A broker that dies often."""
    broker = OdradekBroker(tmp_path_factory.mktemp("mortal") / "broker")
    broker.start()
    yield broker
    broker.stop()


class Writer:
    """A producer with a topic of its own, and what it was told of its records."""

    def __init__(self, broker: OdradekBroker, topic: str, **how: Any) -> None:
        self.topic = topic
        self.sent: list[list[bytes]] = [[] for _ in range(PARTITIONS)]
        self.acknowledged: list[dict[int, bytes]] = [{} for _ in range(PARTITIONS)]
        self.refused: set[bytes] = set()
        self._producer = Producer(quiet(broker, **how))
        self._numbers = count()

    def write(self, chance: Random) -> None:
        """A few records."""
        for _ in range(BURST):
            number = next(self._numbers)
            partition, value = number % PARTITIONS, b"%d " % number * chance.randrange(1, 60)
            self.sent[partition].append(value)
            self._producer.produce(self.topic, value, partition=partition, on_delivery=self._told)
        self._producer.poll(0)

    def finish(self) -> None:
        """Waits until each record is acknowledged, or given up."""
        assert self._producer.flush(2 * SECONDS_MAX) == 0

    def _told(self, error: KafkaError | None, message: Any) -> None:
        if error is None:
            self.acknowledged[message.partition()][message.offset()] = message.value()
        else:
            self.refused.add(message.value())


class Committer:
    """A group without members that commits, one answer after the other."""

    def __init__(self, broker: OdradekBroker, group: str, topic: str) -> None:
        self.answered = -1
        self.asked = -1
        self._about = (topic, 0)
        how = {"group.id": group, "enable.auto.commit": False, "on_commit": self._told}
        self._consumer = Consumer(quiet(broker, **how))

    def commit(self) -> None:
        """The next offset, if the last one was answered."""
        self._consumer.poll(0)
        if self.answered == self.asked:
            self.asked += 1
            position = TopicPartition(*self._about, self.asked)
            self._consumer.commit(offsets=[position], asynchronous=True)

    def committed(self) -> int:
        """As the broker has it."""
        (found,) = self._consumer.committed([TopicPartition(*self._about)], SECONDS_MAX)
        assert isinstance(found.offset, int)
        return found.offset

    def close(self) -> None:
        """It never was a member."""
        self._consumer.close()

    def _told(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        if error is None:
            assert isinstance(offsets[0].offset, int)
            self.answered = offsets[0].offset


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_what_was_acknowledged_is_there(seed: int, mortal: OdradekBroker) -> None:
    """Every record at the offset it was given, once and in its order; every offset of a group.

    A producer that counts goes on by itself, and loses nothing at all. One that does not is told
    of what may be lost, as it may not try again. Both are tested with topics that are synced before
    the answer, and with such as leave the bytes to the kernel, which lives on.
    """
    chance = Random(seed)
    codec, synced = chance.choice(CODECS), chance.choice(("true", "false"))
    how = {"compression.type": codec, "linger.ms": chance.choice((0, 1, 5)), "batch.size": 10_000}
    settings = {"flush_before_ack": synced, "segment_bytes": str(chance.randrange(20_000, 200_000))}
    names = [create_topic(mortal, f"{name}-{seed}", 2, **settings) for name in ("once", "maybe")]
    counting = Writer(mortal, names[0], **how, **{"enable.idempotence": True})
    trying = Writer(mortal, names[1], **how, acks=chance.choice(("1", "all")), retries=0)
    group = Committer(mortal, f"readers-{seed}", names[0])
    enough = chance.randrange(3_000)

    def is_enough() -> bool:
        for writer in (counting, trying):
            writer.write(chance)
        group.commit()
        least = min(sum(map(len, writer.acknowledged)) for writer in (counting, trying))
        return least > enough and group.answered >= 0

    eventually(is_enough)
    mortal.kill()
    answered = group.answered
    counting.write(chance)
    mortal.start()
    counting.write(chance)
    counting.finish()
    trying.finish()
    assert answered <= group.committed() <= group.asked
    group.close()
    assert not counting.refused
    for partition in range(PARTITIONS):
        found = read_all(mortal, names[0], partition)
        assert list(found.values()) == counting.sent[partition]
        assert counting.acknowledged[partition].items() <= found.items()
        found = read_all(mortal, names[1], partition)
        assert trying.acknowledged[partition].items() <= found.items()
        order = {value: place for place, value in enumerate(trying.sent[partition])}
        places = [order[value or b""] for value in found.values()]
        assert places == sorted(set(places)), "some are there twice, or in another order"

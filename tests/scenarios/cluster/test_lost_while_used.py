"""Some partitions lose their state under producers and readers that run: these say so and go on."""

import asyncio

import pytest

from odradek.cli.records.telling import Telling, flushed
from odradek.client.records.producer import Producer
from odradek.client.records.reader import Reader
from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.ids import TopicPartition
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.scenarios.operator import Operator
from tests.scenarios.cluster.test_znodes import move_away

LOST, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)
STATE = PartitionStateZnode.path(LOST)
SOON_MS = 5_000


def lose(t: ClusterScenario) -> bytes:
    """What its state was: its leader comes back to none."""
    leader, said = t.leader("orders"), t.data(STATE)
    assert said is not None
    t.put(STATE, b"")
    move_away(t)
    t.run(seconds=2)
    t.broker(leader).kill()
    t.run(seconds=25)
    t.broker(leader).start()
    t.run(seconds=25)
    return said


def told(t: ClusterScenario, says: list[str]) -> None:
    """Once, within some seconds, which partition and why."""
    t.run(seconds=SOON_MS / 1_000)
    (line,) = says
    assert line.startswith(f"no leader: 1 (orders: 0): {STATE} in ZooKeeper cannot be read")


@pytest.fixture
def shop(t: ClusterScenario) -> Operator:
    """Who produces and reads."""
    shop = t.operator()
    shop.make("orders", 2)
    return shop


def test_a_producer_that_runs_says_why_and_goes_on(t: ClusterScenario, shop: Operator) -> None:
    """What is given up is counted; what has no key goes elsewhere; it goes on once mended."""
    producer, says = Producer(shop.cluster), list[str]()
    telling = Telling(shop.cluster, says.append)

    def produce(*where: TopicPartition) -> "asyncio.Task[list[tuple[TopicPartition, int]]]":
        for it in where:
            producer.add(it, b"a")
        return shop.begins(flushed(producer, telling))

    assert shop.ends(produce(LOST, OTHER)) == [(LOST, 0), (OTHER, 0)]
    said = lose(t)
    for offset in (1, 2):
        sending = produce(LOST, OTHER)
        told(t, says)
        assert sending.done()
        assert shop.ends(sending) == [(OTHER, offset)]
    assert producer.given_up == {LOST: 2}
    assert {shop.does(producer.partition_for("orders", None)) for _ in range(3)} == {OTHER}
    t.put(STATE, said)
    t.run(seconds=25)
    assert shop.ends(produce(LOST, OTHER)) == [(LOST, 1), (OTHER, 3)]


def test_a_reader_that_runs_says_why_and_goes_on(t: ClusterScenario, shop: Operator) -> None:
    """It reads the others meanwhile, and this one again once it is mended."""
    reader, says = Reader(shop.cluster, {LOST: 0, OTHER: 0}), list[str]()
    telling = Telling(shop.cluster, says.append)
    values: list[bytes | None] = []

    async def read() -> None:
        while True:
            values.extend(it.record.value for it in await reader.poll())

    reading = [shop.begins(read()), shop.begins(telling.while_reading(reader))]
    said = lose(t)
    shop.produce("orders", "a", partition=1)
    told(t, says)
    assert values == [b"a"]
    t.put(STATE, said)
    t.run(seconds=25)
    shop.produce("orders", "b")
    t.wait_until(lambda: values == [b"a", b"b"], "it reads the one that is mended")
    for it in reading:
        it.cancel()

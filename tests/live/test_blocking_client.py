"""The blocking client beside brokers that die: what Spark's workers go through."""

from pathlib import Path

from odradek.client.blocking.client import BlockingClient
from odradek.client.records.fetching import FetchSettings
from odradek.client.records.offsets import EARLIEST, LATEST, Position
from odradek.model.ids import TopicPartition
from odradek.model.units import Bytes, Millis
from odradek.records.batch import headers
from odradek.records.build import build_batch
from odradek.records.record import Record, read_records
from tests.live.cluster import LiveCluster

TIME = 1_700_000_000_000
PARTITIONS = [TopicPartition("orders", number) for number in range(6)]
ROUNDS = 60
KILLED_IN_ROUND = 20
SMALL = FetchSettings(bytes_max=Bytes(2_000))


def batch(number: int) -> bytearray:
    """Ten records that say which they are."""
    values = [b"%d" % it for it in range(10 * number, 10 * number + 10)]
    return build_batch([Record(at, TIME, None, value) for at, value in enumerate(values)])


def test_every_record_is_there_once_although_a_leader_was_killed(tmp_path: Path) -> None:
    """In its order, in every partition; and a reader goes on where it was."""
    with (
        LiveCluster(tmp_path) as cluster,
        BlockingClient(cluster.bootstrap, patience_ms=Millis(60_000)) as client,
    ):
        cluster.make("orders", 6, 3, **{"retention.ms": "-1"})
        victim = client.topic("orders").partitions[0].leader
        producer = client.producer()
        readers = {}
        for number in range(ROUNDS):
            for partition in PARTITIONS:
                producer.send(partition, batch(number))
            if number == KILLED_IN_ROUND:
                producer.flush()
                for partition in PARTITIONS:
                    start = Position(client.offsets({partition: EARLIEST})[partition].offset)
                    readers[partition] = client.fetch(partition, start, 10 * ROUNDS, SMALL)
                begun = {it: [next(reader)] for it, reader in readers.items()}
                cluster.brokers[victim].kill()
        producer.flush()
        ends = client.offsets(dict.fromkeys(PARTITIONS, LATEST))
        assert {found.offset for found in ends.values()} == {10 * ROUNDS}
        for partition, reader in readers.items():
            values = [
                record.value
                for fetched in (*begun[partition], *reader)
                for position, header in headers(fetched.data)
                for record in read_records(fetched.data, header, position)
            ]
            assert values == [b"%d" % it for it in range(10 * ROUNDS)]

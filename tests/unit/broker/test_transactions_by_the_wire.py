"""A transaction from its first batch to its end, as a producer, a coordinator and readers see it.

The coordinator is the test: it confirms, and sends the markers.
"""

import pytest

from odradek.model.errors import ErrorCode
from odradek.records.batch import headers
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.produce import ProduceRequest
from tests.samples.transactions import PRODUCER, one_marker, one_record
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.transactions import Coordinators

READ_COMMITTED = 1
NO_EPOCH = -1


def confirming(stage: Stage) -> Coordinators:
    """Every transaction is confirmed."""
    services = stage.running.services_of_this_life
    services.questions = found = Coordinators(services.timers)
    return found


def produce(client: Client, sequence: int, *, epoch: int = 0, version: int = 12) -> ErrorCode:
    """One record of the producer's transaction."""
    request = ProduceRequest("copier", -1, 5_000, one_record(sequence, epoch=epoch))
    answer = client.ask(request, version)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


def end(client: Client, *, epoch: int, committed: bool, transactions: int = 2) -> ErrorCode:
    """The marker, from the coordinator."""
    marker = one_marker(epoch=epoch, committed=committed, transactions=transactions)
    answer = client.ask(marker)
    return ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)


def last_stable(client: Client) -> int:
    """What ListOffsets calls the latest, for a reader of committed records."""
    topic = ListOffsetsTopic("orders", [ListOffsetsPartition(0, timestamp=-1)])
    answer = client.ask(ListOffsetsRequest(-1, READ_COMMITTED, [topic]))
    return int(answer.topics[0].partitions[0].offset)


def offsets_in(row: PartitionData) -> list[int]:
    """The base offsets of the batches in an answer."""
    assert isinstance(row.records, memoryview)
    return [header.base_offset for _, header in headers(row.records)]


class Reader:
    """A consumer of committed records with a fetch session."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.session = 0
        self.epoch = 0
        self.offset = 0

    def poll(self) -> PartitionData | None:
        """What the session says of the partition; None if that is nothing new."""
        wanted = FetchPartition(0, fetch_offset=self.offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            isolation_level=READ_COMMITTED,
            session_id=self.session,
            session_epoch=self.epoch,
            topics=[FetchTopic("orders", partitions=[wanted])],
        )
        answer = self.client.ask(request, 12)
        assert answer.error_code == 0
        self.session, self.epoch = answer.session_id, self.epoch + 1
        rows = [row for topic in answer.responses for row in topic.partitions]
        return rows[0] if rows else None


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_from_its_first_batch_to_its_end(*, committed: bool) -> None:
    """Readers of committed records see nothing of it, then all of it, or which part to skip."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        asked = confirming(stage).asked
        assert produce(client, 0) is ErrorCode.NONE
        assert produce(client, 1) is ErrorCode.NONE
        assert len(asked) == 1
        assert client.produce("orders", "plain").error_code == ErrorCode.NONE
        assert last_stable(client) == 0
        assert not client.fetch("orders", 0, isolation_level=READ_COMMITTED).records
        assert end(client, epoch=1, committed=committed) is ErrorCode.NONE
        assert last_stable(client) == 4
        found = client.fetch("orders", 0, isolation_level=READ_COMMITTED)
        aborted = [(it.producer_id, it.first_offset) for it in found.aborted_transactions or ()]
        assert aborted == ([] if committed else [(PRODUCER, 0)])
        assert offsets_in(found) == [0, 1, 2, 3]


def test_a_fetch_session_across_an_abort() -> None:
    """The session tells of the records when they are decided, with what is to be skipped."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        confirming(stage)
        reader = Reader(stage.client())
        assert produce(client, 0) is ErrorCode.NONE
        first = reader.poll()
        assert first is not None
        assert not first.records
        assert (first.high_watermark, first.last_stable_offset) == (1, 0)
        assert reader.poll() is None
        assert end(client, epoch=1, committed=False) is ErrorCode.NONE
        row = reader.poll()
        assert row is not None
        assert row.last_stable_offset == 2
        assert [it.first_offset for it in row.aborted_transactions or ()] == [0]
        reader.offset = 2
        reader.poll()
        assert produce(client, 0, epoch=1) is ErrorCode.NONE
        row = reader.poll()
        assert row is None or not row.records
        assert end(client, epoch=2, committed=True) is ErrorCode.NONE
        row = reader.poll()
        assert row is not None
        assert not row.aborted_transactions
        assert offsets_in(row) == [2, 3]


def test_records_are_deleted_under_an_open_transaction() -> None:
    """Also beyond its first one; readers wait at the new start, and its marker ends it."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        confirming(stage)
        for sequence in range(3):
            assert produce(client, sequence) is ErrorCode.NONE
        wanted = DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, 2)])
        answer = client.ask(DeleteRecordsRequest([wanted], 5_000))
        assert answer.topics[0].partitions[0].low_watermark == 2
        assert last_stable(client) == 2
        assert end(client, epoch=1, committed=True) is ErrorCode.NONE
        assert last_stable(client) == 4


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_transaction_over_a_restart_of_its_leader(how: str) -> None:
    """It is open as before, no coordinator is asked again, and its marker ends it."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        confirming(stage)
        assert produce(client, 0) is ErrorCode.NONE
        stage.run(1)
        getattr(stage, how)()
        stage.start()
        client, asked = stage.client(), confirming(stage).asked
        while client.produce("orders", "plain").error_code:
            stage.run(0.1)
        assert produce(client, 0) is ErrorCode.NONE
        assert produce(client, 1) is ErrorCode.NONE
        assert not asked
        assert last_stable(client) == 0
        assert end(client, epoch=1, committed=True) is ErrorCode.NONE
        assert end(client, epoch=1, committed=True) is ErrorCode.NONE
        assert last_stable(client) == 4

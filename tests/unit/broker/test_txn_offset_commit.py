"""Offsets within transactions, in the log of `__consumer_offsets` and through the handlers."""

from typing import Any, cast

import pytest

from odradek.broker.handlers.groups import txn_offset_commit
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.confirmations import Question
from odradek.coordinator.groups.requests import FetchOffsets
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.units import Micros
from odradek.records.batch import headers
from odradek.wire.headers import read_response
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.samples.transactions import PRODUCER
from tests.unit.broker.ground import Ground, word
from tests.unit.broker.group_desk import GROUP, PLACE, Desk, Visitor
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.test_produce import with_groups
from tests.unit.broker.transactions import AT_GROUPS, Coordinators, Floor, live

ABOUT = TopicPartition("orders", 0)
UNSTABLE = ErrorCode.UNSTABLE_OFFSET_COMMIT


def request(offset: int, partitions: int = 1, epoch: int = 0) -> TxnOffsetCommitRequest:
    """Of a consumer that assigns its partitions itself."""
    rows = [TxnOffsetCommitRequestPartition(it, offset) for it in range(partitions)]
    topics = [TxnOffsetCommitRequestTopic("orders", rows)]
    return TxnOffsetCommitRequest("copier", GROUP, PRODUCER, epoch, topics=topics)


async def committed(desk: Desk, *how: int) -> ErrorCode:
    """What the first partition was answered."""
    (response,) = await desk.ask(request(*how), version=3).answers()
    return ErrorCode(response.topics[0].partitions[0].error_code)


async def stable(desk: Desk) -> int | ErrorCode:
    """Where the group is, once that is decided."""
    (found,) = await desk.ask(FetchOffsets(GROUP, [ABOUT], require_stable=True)).answers()
    row = found.topics[0].partitions[0]
    return ErrorCode(row.error_code) if row.error_code else int(row.committed_offset)


@pytest.mark.parametrize("is_committed", [True, False])
def test_offsets_and_their_marker_in_one_log(*, is_committed: bool) -> None:
    """Batches of the producer's transaction, without sequences; the next life reads the same."""

    async def first(t: Floor) -> None:
        led = await t.desk.active()
        assert await t.desk.commit(1) is ErrorCode.NONE
        assert await committed(t.desk, 5) is ErrorCode.NONE
        assert await committed(t.desk, 6) is ErrorCode.NONE
        assert led.log.last_stable_offset == 1
        assert await stable(t.desk) is UNSTABLE
        found = b"".join([it async for it in t.replicas.logs.read_in_pieces(led.log, 1 << 20)])
        rows = [header for _, header in headers(found)][1:]
        assert [(it.producer_id, it.producer_epoch, it.base_sequence) for it in rows] == [
            (PRODUCER, 0, 0)
        ] * 2
        assert all(it.is_transactional for it in rows)

    async def second(t: Floor) -> None:
        led = await t.desk.active()
        assert await stable(t.desk) is UNSTABLE
        ending = t.end(AT_GROUPS, committed=is_committed)
        while ending.outcome() is None:
            await t.turns(0.001)
        assert ending.outcome() == [ErrorCode.NONE]
        assert await stable(t.desk) == (6 if is_committed else 1)
        assert led.log.last_stable_offset == 4

    async def third(t: Floor) -> None:
        await t.desk.active()
        assert await stable(t.desk) == (6 if is_committed else 1)

    with Ground() as ground:
        live(ground, first)
        live(ground, second)
        live(ground, third)


def test_a_producer_that_was_fenced_commits_no_offsets() -> None:
    """A marker under a higher epoch fences its ghost here, too."""

    async def said(t: Floor) -> None:
        led = await t.desk.active()
        assert await committed(t.desk, 5, 1, 3) is ErrorCode.NONE
        endings = [t.end(AT_GROUPS, epoch=4, transactions=2) for _ in range(2)]
        await t.turns()
        assert [it.outcome() for it in endings] == [[ErrorCode.NONE]] * 2
        assert led.log.log_end_offset == 2  # the second was there
        assert await committed(t.desk, 6, 1, 3) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await stable(t.desk) == 5
        assert await committed(t.desk, 6, 1, 4) is ErrorCode.NONE

    with Ground() as ground:
        live(ground, said)


def test_offsets_that_need_several_batches() -> None:
    """All of them are the transaction's, each is a batch of its own to the log."""

    async def said(t: Floor) -> None:
        led = await t.desk.active()
        assert await committed(t.desk, 5, 50) is ErrorCode.NONE
        assert led.log.log_end_offset == 50
        t.end(AT_GROUPS)
        await t.turns()
        found = await t.desk.fetch()
        assert found == {f"orders-{it}": 5 for it in range(50)}

    with Ground() as ground:
        ground.settings.topics[GROUP_METADATA_TOPIC] = {"max.message.bytes": "1000"}
        live(ground, said)


def test_a_marker_waits_for_the_replicas_of_the_groups_partition() -> None:
    """Its leader alone does not make offsets the group's (KAFKA-17507)."""

    async def said(t: Floor) -> None:
        await t.desk.elect((1, 2))
        await t.turns()
        ending = t.end(AT_GROUPS)
        await t.turns()
        assert t.replicas.led(PLACE).log.log_end_offset == 1
        assert ending.outcome() is None
        await t.turns(6)  # as long as coordinators wait for their writes
        assert ending.outcome() == [ErrorCode.REQUEST_TIMED_OUT]

    with Ground() as ground:
        live(ground, said)


def test_a_marker_for_groups_that_are_coordinated_elsewhere_or_not_yet() -> None:
    """Who sends it knows of leaders alone, and asks again."""

    async def first(t: Floor) -> None:
        await t.desk.active()
        await t.desk.commit(1)

    async def said(t: Floor) -> None:
        again = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert t.end(AT_GROUPS).outcome() == again
        await t.desk.elect()
        assert t.end(AT_GROUPS).outcome() == again
        await t.turns()
        t.desk.may_answer = False
        ending = t.end(AT_GROUPS)
        await t.turns()
        assert ending.outcome() == again

    with Ground() as ground:
        live(ground, first)
        live(ground, said)


# The coordinator's word


class Committing(Visitor):
    """A TxnOffsetCommit, and what was answered to it."""

    def __init__(self, t: Floor, version: int, epoch: int = 0) -> None:
        self.pending = PendingRequest(
            self, 28, version, 1, "app", bytearray(), Micros(0), Micros(0)
        )
        txn_offset_commit.handle(t.services, self.pending, request(5, epoch=epoch))

    def outcome(self) -> ErrorCode | None:
        """Of its one partition; None as long as there is no answer."""
        if self.pending.chunks is None:
            return None
        frame = b"".join(cast("list[bytes]", self.pending.chunks))[4:]
        (topic,) = read_response(TxnOffsetCommitResponse, self.pending.version, frame)[1].topics
        return ErrorCode(topic.partitions[0].error_code)


async def answered(t: Floor, version: int, epoch: int = 0) -> ErrorCode | None:
    """After a moment."""
    committing = Committing(t, version, epoch)
    await t.turns()
    return committing.outcome()


def test_the_groups_partition_is_confirmed_once_for_a_transaction() -> None:
    """Up to v4 a client has added it by AddOffsetsToTxn, from v5 on this adds it (KIP-890)."""

    async def said(t: Floor) -> None:
        await t.desk.active()
        t.coordinators.is_held = True
        committing = Committing(t, 4)
        await t.turns()
        assert committing.outcome() is None
        t.coordinators.answer()
        await t.turns()
        assert committing.outcome() == ErrorCode.NONE
        assert await answered(t, 4) is ErrorCode.NONE
        t.end(AT_GROUPS, epoch=1, transactions=2)
        await t.turns()
        t.coordinators.is_held = False
        assert await answered(t, 5, 1) is ErrorCode.NONE
        questions = [Question("copier", PRODUCER, 0, adds=False)]
        questions.append(Question("copier", PRODUCER, 1, adds=True))
        assert t.coordinators.asked == [(it, AT_GROUPS) for it in questions]

    with Ground() as ground:
        live(ground, said)


def test_offsets_that_no_coordinator_knows_of_are_not_written() -> None:
    """AddOffsetsToTxn was lost: nobody would ever end them, and the group would hang."""

    async def said(t: Floor) -> None:
        led = await t.desk.active()
        t.coordinators.code = ErrorCode.TRANSACTION_ABORTABLE
        assert await answered(t, 3) is ErrorCode.INVALID_TXN_STATE
        assert await answered(t, 4) is ErrorCode.TRANSACTION_ABORTABLE
        t.coordinators.code = ErrorCode.PRODUCER_FENCED
        assert await answered(t, 4) is ErrorCode.INVALID_PRODUCER_EPOCH
        assert led.log.log_end_offset == 0

    with Ground() as ground:
        live(ground, said)


def test_a_coordinator_that_does_not_answer_is_as_one_that_loads() -> None:
    """A client asks again, here; where the group's own coordinator has gone, elsewhere."""

    async def said(t: Floor) -> None:
        await t.desk.active()
        t.coordinators.code = ErrorCode.NOT_COORDINATOR
        new, old = Committing(t, 3), Committing(t, 1)
        await t.turns(1.1)
        assert new.outcome() is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert old.outcome() is ErrorCode.COORDINATOR_NOT_AVAILABLE
        left = Committing(t, 3)
        await t.replicas.apply_leader_and_isr([word(PLACE, epoch=1, leader=None)])
        assert left.outcome() is ErrorCode.NOT_COORDINATOR
        assert await answered(t, 3) is ErrorCode.NOT_COORDINATOR

    with Ground() as ground:
        live(ground, said)


# By the wire


def fetched(client: Client) -> int | ErrorCode:
    """OffsetFetch with require_stable."""
    wanted = OffsetFetchRequestTopics("orders", partition_indexes=[0])
    group = OffsetFetchRequestGroup(GROUP, topics=[wanted])
    answer = client.ask(OffsetFetchRequest(groups=[group], require_stable=True))
    row = answer.groups[0].topics[0].partitions[0]
    return ErrorCode(row.error_code) if row.error_code else int(row.committed_offset)


@pytest.mark.parametrize("version", range(6))
def test_every_version_by_the_wire(version: int) -> None:
    """A partition that does not exist is refused, the other is the group's from the marker on."""
    with Stage(offsets_topic_num_partitions="1") as stage:
        stage.make("orders")
        client = with_groups(stage)
        stage.running.services_of_this_life.questions = Coordinators(stage.running.timers)
        asked: Any = request(5, partitions=2)
        rows = client.ask(asked, version).topics[0].partitions
        assert [it.error_code for it in rows] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
        assert fetched(client) is UNSTABLE
        topic = WritableTxnMarkerTopic(GROUP_METADATA_TOPIC, [0])
        marker = WritableTxnMarker(PRODUCER, transaction_result=True, topics=[topic])
        found = client.ask(WriteTxnMarkersRequest([marker]), min(version, 2))
        assert found.markers[0].topics[0].partitions[0].error_code == 0
        assert fetched(client) == 5

"""A leader takes a transactional batch on its coordinator's word alone, and each word once."""

from typing import cast

import pytest

from odradek.broker.handlers import produce
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.confirmations import Question
from odradek.model.errors import ErrorCode
from odradek.model.positions import Offset
from odradek.model.units import Micros
from odradek.wire.codec import decode, encoded
from odradek.wire.headers import read_response
from odradek.wire.messages.produce import (
    ProduceRequest,
    ProduceResponse,
)
from tests.samples.transactions import PRODUCER, one_record
from tests.unit.broker.ground import ORDERS, Ground, word
from tests.unit.broker.group_desk import Visitor
from tests.unit.broker.transactions import Floor, Talk, live

ID = "copier"
NONE = ErrorCode.NONE


class Sent(Visitor):
    """A Produce, and what was answered to it."""

    def __init__(self, frame: bytearray, version: int) -> None:
        self.pending = PendingRequest(self, 0, version, 1, "app", frame, Micros(0), Micros(0))
        self.has_hung_up = False

    def hang_up(self, reason: str) -> None:
        """As a broker does that has no answer to give."""
        del reason
        self.has_hung_up = True

    @property
    def code(self) -> ErrorCode | None:
        """Of its one batch; None as long as there is no answer."""
        if self.pending.chunks is None:
            return None
        frame = b"".join(cast("list[bytes]", self.pending.chunks))[4:]
        (topic,) = read_response(ProduceResponse, self.pending.version, frame)[1].responses
        return ErrorCode(topic.partition_responses[0].error_code)


def send(
    t: Floor,
    sequence: int,
    *,
    epoch: int = 0,
    version: int = 11,
    name: str | None = ID,
    transactional: bool = True,
    acks: int = -1,
    timeout_ms: int = 30_000,
) -> Sent:
    """One record of the producer."""
    topics = one_record(sequence, epoch=epoch, transactional=transactional)
    frame = bytearray(encoded(ProduceRequest(name, acks, timeout_ms, topics), version))
    sent = Sent(frame, version)
    produce.handle(t.services, sent.pending, decode(ProduceRequest, version, frame)[0])
    return sent


async def settled(t: Floor, *sent: Sent) -> list[ErrorCode | None]:
    """What each was answered, with the other broker fetching."""
    await t.turns()
    t.fetched()
    return [it.code for it in sent]


def talk(said: Talk, broker: dict[str, str] | None = None, **topic: str) -> None:
    """One life, with these settings."""
    with Ground(broker, orders=topic) as ground:
        live(ground, said)


def asked(t: Floor) -> list[tuple[int, bool]]:
    """About which epochs, and whether the partition was to be added."""
    return [(question.producer_epoch, question.adds) for question, _ in t.coordinators.asked]


def test_the_first_batch_waits_for_the_coordinator_and_opens_the_transaction() -> None:
    """Those behind it need no word; after the marker the next transaction does (KIP-890).

    So no late batch opens a transaction that is never ended (KAFKA-14402).
    """

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        first = send(t, 0)
        await t.turns()
        assert t.led.log.next_offset == 0
        assert t.coordinators.asked == [(Question(ID, PRODUCER, 0, adds=False), ORDERS)]
        t.coordinators.answer()
        assert await settled(t, first) == [NONE]
        assert await settled(t, send(t, 1), send(t, 2)) == [NONE, NONE]
        assert len(t.coordinators.asked) == 1
        assert await t.ended() == [NONE]
        second = send(t, 3)
        await t.turns()
        assert second.code is None
        assert len(t.coordinators.asked) == 2

    talk(said)


def test_batches_that_wait_for_one_answer_keep_their_order() -> None:
    """Five in flight are one question, and are taken in one turn."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        sent = [send(t, sequence) for sequence in range(5)]
        assert len(t.coordinators.asked) == 1
        t.coordinators.answer()
        assert await settled(t, *sent) == [NONE] * 5
        assert t.led.log.log_end_offset == 5

    talk(said)


def test_an_answer_that_comes_after_the_end_confirms_nothing() -> None:
    """It is about the transaction that the marker has ended: the question is asked again."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        late = send(t, 0, version=10)
        assert await t.ended(committed=False) == [NONE]
        t.coordinators.answer()
        await t.turns()
        assert t.led.log.log_end_offset == 1
        assert len(t.coordinators.asked) == 2
        t.coordinators.answer(ErrorCode.INVALID_TXN_STATE)
        assert await settled(t, late) == [ErrorCode.INVALID_TXN_STATE]
        assert t.led.log.last_stable_offset == 1

    talk(said)


def test_a_late_batch_of_an_ended_transaction_is_refused_by_its_epoch() -> None:
    """Version 2: the marker has raised it, and nobody is asked."""

    async def said(t: Floor) -> None:
        await t.elect()
        assert await settled(t, send(t, 0, epoch=4, version=12)) == [NONE]
        assert await t.ended(epoch=5, transactions=2) == [NONE]
        late = send(t, 1, epoch=4, version=12)
        assert late.code is ErrorCode.INVALID_PRODUCER_EPOCH
        assert await settled(t, send(t, 0, epoch=5, version=12)) == [NONE]
        assert asked(t) == [(4, True), (5, True)]

    talk(said)


def test_a_marker_of_another_producer_voids_nothing() -> None:
    """Its transaction is another one."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        sent = send(t, 0)
        assert await t.ended(producer=PRODUCER + 1) == [NONE]
        t.coordinators.answer()
        assert await settled(t, sent) == [NONE]
        assert len(t.coordinators.asked) == 1

    talk(said)


def test_no_batch_is_taken_before_one_that_is_to_be_confirmed() -> None:
    """The log would take any first sequence, and refuse the lower one for ever."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        first = send(t, 0)
        await t.turns(1.1)
        assert first.code is ErrorCode.NOT_ENOUGH_REPLICAS
        t.coordinators.code = NONE
        second = send(t, 1)
        assert await settled(t, second) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
        assert await settled(t, send(t, 0), send(t, 1)) == [NONE, NONE]
        assert await t.ended() == [NONE]
        assert await settled(t, send(t, 2)) == [NONE]

    talk(said)


def test_in_version_2_the_first_batch_of_an_epoch_has_sequence_0() -> None:
    """KAFKA-18202: of a producer that the log does not know, any other has one before it.

    In version 1 it may have been deleted, for the epoch is older than the transaction.
    """

    async def said(t: Floor) -> None:
        await t.elect()
        assert await settled(t, send(t, 3, version=12)) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
        t.coordinators.is_held = True
        sent = [send(t, it, version=12) for it in range(3)]
        await t.turns()
        t.coordinators.answer()
        assert await settled(t, *sent) == [NONE] * 3

    talk(said)


def test_a_first_batch_that_the_log_refuses_holds_back_the_second() -> None:
    """Both were confirmed; but there is a gap."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        first, second = send(t, 0, timeout_ms=100), send(t, 1)
        await t.turns(0.2)
        assert first.code is ErrorCode.REQUEST_TIMED_OUT
        t.coordinators.answer()
        assert await settled(t, second) == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
        assert t.led.log.next_offset == 0

    talk(said)


@pytest.mark.parametrize(
    ("answer", "version", "told"),
    [
        ("INVALID_TXN_STATE", 10, "INVALID_TXN_STATE"),
        ("INVALID_TXN_STATE", 11, "TRANSACTION_ABORTABLE"),
        ("TRANSACTION_ABORTABLE", 10, "INVALID_TXN_STATE"),
        ("TRANSACTION_ABORTABLE", 12, "TRANSACTION_ABORTABLE"),
        ("PRODUCER_FENCED", 11, "INVALID_PRODUCER_EPOCH"),
        ("INVALID_PRODUCER_EPOCH", 12, "INVALID_PRODUCER_EPOCH"),
        ("INVALID_PRODUCER_ID_MAPPING", 9, "INVALID_PRODUCER_ID_MAPPING"),
        ("TRANSACTIONAL_ID_AUTHORIZATION_FAILED", 9, "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
    ],
)
def test_what_a_producer_is_told(answer: str, version: int, told: str) -> None:
    """In codes that its version knows; nothing was taken."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.code = ErrorCode[answer]
        assert await settled(t, send(t, 0, version=version)) == [ErrorCode[told]]
        assert t.led.log.next_offset == 0

    talk(said)


def test_a_transaction_that_is_still_being_ended_is_waited_for() -> None:
    """KAFKA-18654: the leader asks again, a client would only send the batch again."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.code = ErrorCode.CONCURRENT_TRANSACTIONS
        sent = send(t, 0, version=12)
        await t.turns(0.5)
        assert sent.code is None
        t.coordinators.code = NONE
        assert await settled(t, sent) == [NONE]
        assert len(t.coordinators.asked) > 5

    talk(said)


def test_a_coordinator_that_says_nothing_is_waited_for_up_to_a_bound() -> None:
    """Its late answer takes nothing."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        sent = send(t, 0)
        await t.turns(0.9)
        assert sent.code is None
        await t.turns(0.2)
        assert await settled(t, sent) == [ErrorCode.NOT_ENOUGH_REPLICAS]
        t.coordinators.answer()
        await t.turns()
        assert t.led.log.next_offset == 0
        assert not t.led.confirming

    talk(said)


def test_a_producer_that_went_away_writes_nothing() -> None:
    """Nobody knows whether its transaction goes on."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        sent = send(t, 0)
        gone = sent.pending.on_gone
        assert gone is not None
        gone()
        t.coordinators.answer()
        await t.turns(2)
        assert t.led.log.next_offset == 0
        assert sent.code is None

    talk(said)


def test_a_leadership_that_ends_before_the_answer() -> None:
    """The next leader asks for itself."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        sent = send(t, 0)
        await t.replicas.apply_leader_and_isr([word(epoch=1, leader=None)])
        assert sent.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        t.coordinators.answer()
        await t.turns()

    talk(said)


def test_a_new_leader_that_has_the_transaction_open_asks_nobody() -> None:
    """Nor for a batch that it has: it is a duplicate, as ever."""

    async def said(t: Floor) -> None:
        await t.elect()
        assert await settled(t, send(t, 0)) == [NONE]
        await t.elect(epoch=1)
        assert await settled(t, send(t, 0), send(t, 1)) == [NONE, NONE]
        assert t.led.log.log_end_offset == 2
        assert await t.ended() == [NONE]
        assert send(t, 1).code is None  # waits for the answer of others, not of a coordinator
        assert len(t.coordinators.asked) == 1

    talk(said)


@pytest.mark.parametrize("verified", [True, False])
def test_redpanda_3232_an_abort_that_was_put_off_takes_nothing_of_the_next_epoch(
    *, verified: bool
) -> None:
    """Readers skip records by their producer id: what is aborted ends before the next one begins.

    So the first batch of the new epoch waits for the marker of the old one. Were it not verified,
    the marker would come too late, and the end of the new transaction would count for both.
    """

    async def said(t: Floor) -> None:
        await t.elect()
        assert await settled(t, send(t, 0)) == [NONE]
        t.coordinators.code = ErrorCode.CONCURRENT_TRANSACTIONS  # the marker is on its way
        heir = send(t, 0, epoch=2)
        await t.turns(0.3)
        assert t.led.log.log_end_offset == (1 if verified else 2)
        put_off = await t.ended(epoch=1, committed=False)
        t.coordinators.code = NONE
        assert await settled(t, heir) == [NONE]
        late = [await t.ended(epoch=it, committed=False) for it in (0, 1)]
        assert late == [[ErrorCode.INVALID_PRODUCER_EPOCH]] * 2
        assert await t.ended(epoch=2) == [NONE]
        aborted = [
            (it.first_offset, it.last_offset)
            for it in t.led.log.aborted_between(Offset(0), Offset(9))
        ]
        assert (put_off, aborted) == (
            ([NONE], [(0, 1)]) if verified else ([ErrorCode.INVALID_PRODUCER_EPOCH], [])
        )

    talk(said, {"transaction.partition.verification.enable": str(verified).lower()})


def test_only_its_producer_waits() -> None:
    """Others write to the partition meanwhile."""

    async def said(t: Floor) -> None:
        await t.elect()
        t.coordinators.is_held = True
        sent = send(t, 0)
        await t.open_transaction(epoch=1)
        assert sent.code is None

    talk(said)


def test_verification_can_be_switched_off() -> None:
    """As in Kafka; a partition that is to be added is added all the same."""

    async def said(t: Floor) -> None:
        await t.elect()
        assert await settled(t, send(t, 0)) == [NONE]
        assert not t.coordinators.asked
        await t.ended()
        assert await settled(t, send(t, 0, epoch=1, version=12)) == [NONE]
        assert asked(t) == [(1, True)]

    talk(said, {"transaction.partition.verification.enable": "false"})


def test_requests_that_make_no_sense() -> None:
    """A batch of nobody's transaction, a transaction without a batch, and no answer wanted."""

    async def said(t: Floor) -> None:
        await t.elect()
        nameless = send(t, 0, name=None)
        assert nameless.code is ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        assert send(t, 0, transactional=False).code is ErrorCode.INVALID_TXN_STATE
        assert send(t, 0, acks=0).has_hung_up
        assert t.led.log.next_offset == 0
        assert not t.coordinators.asked

    talk(said)

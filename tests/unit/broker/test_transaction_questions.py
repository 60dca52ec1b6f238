"""Questions of leaders to coordinators of transactions: how they travel, and what answers say."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import count
from typing import Any

from odradek.broker.coordinators.transaction_questions import TransactionQuestions
from odradek.broker.partitions.replicas.confirmations import Question
from odradek.broker.timers import Timers
from odradek.coordinator.placement import partition_of
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.peers.errors import TimedOut
from odradek.sim.stage.machine import Machine
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from odradek.wire.schema import Request, Response
from tests.unit.broker.conversation import converse
from tests.unit.broker.ground import ME
from tests.unit.broker.group_desk import Known

LEADERS = (ME, BrokerId(2), None)
NONE = ErrorCode.NONE


def id_at(partition: int, skip: int = 0) -> str:
    """A transactional id that belongs to this partition of the state topic."""
    found = (name for name in map("mover-{}".format, count()) if partition_of(name, 3) == partition)
    return [next(found) for _ in range(skip + 1)][-1]


class Others:
    """The other brokers: what they were asked, and what they say to every partition."""

    def __init__(self) -> None:
        self.asked: list[tuple[BrokerId, AddPartitionsToTxnRequest]] = []
        self.code = NONE
        self.top = NONE  # of the whole answer
        self.is_deaf = False
        self.says_nothing = False

    async def ask(self, broker: BrokerId, request: Request) -> Response:
        """As a coordinator answers."""
        assert isinstance(request, AddPartitionsToTxnRequest)
        self.asked.append((broker, request))
        if self.is_deaf:
            raise TimedOut("no answer")
        return AddPartitionsToTxnResponse(
            error_code=self.top,
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    it.transactional_id,
                    [
                        AddPartitionsToTxnTopicResult(
                            topic.name,
                            [
                                AddPartitionsToTxnPartitionResult(number, self.code)
                                for number in topic.partitions
                            ],
                        )
                        for topic in it.topics
                    ],
                )
                for it in request.transactions
                if not self.says_nothing
            ],
        )


async def _local(request: AddPartitionsToTxnRequest) -> AddPartitionsToTxnResponse:
    """This broker's own coordinator."""
    response = await Others().ask(ME, request)
    assert isinstance(response, AddPartitionsToTxnResponse)
    return response


class Floor:
    """The questions of one broker in a cluster with three partitions of the state topic."""

    def __init__(self, machine: Machine, tasks: asyncio.TaskGroup) -> None:
        self.others, self.known = Others(), Known()
        self.questions = TransactionQuestions(
            self.known, self.others, Timers(machine.clock), tasks, local=_local
        )
        self.told: list[tuple[str, int, ErrorCode]] = []

    def has_topic(self) -> None:
        """The state topic is there: one partition is led here, one elsewhere, one by nobody."""
        self.known.lead(TRANSACTION_STATE_TOPIC, *LEADERS)

    def ask(self, name: str, partition: int = 0, epoch: int = 0, *, adds: bool = False) -> None:
        """What is answered is kept."""

        def told(code: ErrorCode) -> None:
            self.told.append((name, partition, code))

        question = Question(name, 7, epoch, adds)
        self.questions.ask(question, TopicPartition("orders", partition), told)


def talk(said: Callable[[Floor], Coroutine[Any, Any, None]]) -> None:
    """One conversation."""
    converse(lambda machine, tasks: said(Floor(machine, tasks)), seconds=5)


async def turns() -> None:
    """What was begun is done."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_the_questions_of_one_turn_are_one_request_to_each_coordinator() -> None:
    """However many producers and partitions they are about."""

    async def said(t: Floor) -> None:
        t.has_topic()
        names = [id_at(1), id_at(1, skip=1)]
        for name in names:
            t.ask(name, 0)
            t.ask(name, 1, adds=False)
        assert not t.others.asked
        await turns()
        ((broker, request),) = t.others.asked
        assert broker == 2
        assert [it.transactional_id for it in request.transactions] == names
        assert [list(it.topics[0].partitions) for it in request.transactions] == [[0, 1]] * 2
        assert all(it.verify_only for it in request.transactions)
        assert sorted(t.told) == sorted((name, it, NONE) for name in names for it in (0, 1))
        t.ask(names[0])
        await turns()
        assert len(t.others.asked) == 2

    talk(said)


def test_a_request_names_an_id_once() -> None:
    """Two epochs of one id, or a question and an addition, are two requests."""

    async def said(t: Floor) -> None:
        t.has_topic()
        t.ask(id_at(1), epoch=0)
        t.ask(id_at(1), epoch=1)
        t.ask(id_at(1), epoch=1, adds=True)
        await turns()
        asked = [it for _, request in t.others.asked for it in request.transactions]
        assert len(t.others.asked) == 3
        assert [(it.producer_epoch, it.verify_only) for it in asked] == [
            (0, True),
            (1, True),
            (1, False),
        ]

    talk(said)


def test_a_coordinator_on_this_broker_is_asked_without_a_connection() -> None:
    """Its answer is as that of any other."""

    async def said(t: Floor) -> None:
        t.has_topic()
        t.ask(id_at(0))
        await turns()
        assert t.told.pop()[2] is NONE
        assert not t.others.asked

    talk(said)


def test_where_there_is_no_coordinator() -> None:
    """Nobody leads its partition, or there is no topic yet."""

    async def said(t: Floor) -> None:
        t.ask("mover")
        await turns()
        t.has_topic()
        t.ask(id_at(2))
        await turns()
        assert {code for _, _, code in t.told} == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
        assert len(t.told) == 2

    talk(said)


def test_what_answers_say() -> None:
    """Each partition has its own code; what is not said, or not heard, is as good as unasked."""

    async def said(t: Floor) -> None:
        t.has_topic()

        async def answer() -> ErrorCode:
            t.ask(id_at(1))
            await turns()
            return t.told.pop()[2]

        t.others.code = ErrorCode.TRANSACTION_ABORTABLE
        assert await answer() is ErrorCode.TRANSACTION_ABORTABLE
        t.others.top = ErrorCode.NOT_COORDINATOR
        assert await answer() is ErrorCode.NOT_COORDINATOR
        t.others.top = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        assert await answer() is ErrorCode.INVALID_TXN_STATE
        t.others.top, t.others.says_nothing = NONE, True
        assert await answer() is ErrorCode.NETWORK_EXCEPTION
        t.others.is_deaf = True
        assert await answer() is ErrorCode.NETWORK_EXCEPTION

    talk(said)

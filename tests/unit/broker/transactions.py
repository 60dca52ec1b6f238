"""A leader and a group coordinator that hear from a coordinator of transactions: the test.

`orders` has a follower that the test is; `__consumer_offsets` has this replica alone, unless the
test elects it otherwise.
"""

import asyncio
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any, cast

from odradek.broker.coordinators.transaction_questions import TransactionQuestions
from odradek.broker.handlers import write_txn_markers
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replicas.confirmations import Question, Told
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.services import Services
from odradek.broker.timers import Timers
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC
from odradek.model.positions import Offset
from odradek.model.units import Micros
from odradek.records.batch import read_header
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.replication.progress import FollowerFetch
from odradek.wire.headers import read_response
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.samples.transactions import PRODUCER
from tests.unit.broker import group_desk
from tests.unit.broker.ground import ME, ORDERS, Ground, until, word
from tests.unit.broker.group_desk import PLACE, Desk, Known, Visitor

OTHER = BrokerId(2)
AT_GROUPS = TopicPartition(GROUP_METADATA_TOPIC, PLACE.partition)


class Coordinators(TransactionQuestions):
    """Coordinators of transactions, all of them the test: each question waits for its answer.

    Unless something else is said, the answer comes in the next turn, and is yes.
    """

    def __init__(self, timers: Timers) -> None:
        self.timers = timers
        self.asked: list[tuple[Question, TopicPartition]] = []
        self.held: list[Told] = []  # whom nothing was answered yet
        self.code = ErrorCode.NONE
        self.is_held = False

    def ask(self, question: Question, partition: TopicPartition, told: Told) -> None:
        """One more."""
        self.asked.append((question, partition))
        if self.is_held:
            self.held.append(told)
        else:
            asyncio.get_running_loop().call_soon(told, self.code)

    def answer(self, code: ErrorCode = ErrorCode.NONE) -> None:
        """To the question that waits longest."""
        self.held.pop(0)(code)


class Ending(Visitor):
    """One WriteTxnMarkers, and what was answered to it."""

    def __init__(self, version: int) -> None:
        self.pending = PendingRequest(self, 27, version, 1, "", bytearray(), Micros(0), Micros(0))

    def outcome(self) -> list[ErrorCode] | None:
        """Of each partition; None as long as there is no answer."""
        if self.pending.chunks is None:
            return None
        frame = b"".join(cast("list[bytes]", self.pending.chunks))[4:]
        response = read_response(WriteTxnMarkersResponse, self.pending.version, frame)[1]
        return [
            ErrorCode(row.error_code)
            for marker in response.markers
            for topic in marker.topics
            for row in topic.partitions
        ]


class Floor:
    """What the test says and sees."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.replicas = desk.replicas
        self.coordinators = Coordinators(desk.timers)
        self.services = cast(
            "Services",
            SimpleNamespace(
                replicas=desk.replicas,
                doors=SimpleNamespace(clock=desk.machine.clock),
                timers=desk.timers,
                groups=desk.groups,
                questions=self.coordinators,
                settings=desk.ground.settings,
                cluster=desk.known,
            ),
        )
        self.led: LeadingReplica

    async def elect(self, *isr: int, epoch: int = 0) -> None:
        """We lead `orders`; so many are in sync."""
        said = word(ORDERS, epoch=epoch)
        leadership = said.leadership._replace(
            replicas=(ME, OTHER), isr=tuple(map(BrokerId, isr)) or (ME, OTHER)
        )
        assert not await self.replicas.apply_leader_and_isr([said._replace(leadership=leadership)])
        self.led = self.replicas.led(ORDERS)

    async def open_transaction(self, *, epoch: int = 0, sequence: int = 0) -> None:
        """The producer's next batch, in our log alone."""
        batch = build_batch(
            [Record(0, 1_700_000_000_000, None, b"a")],
            producer_id=PRODUCER,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
        end = self.led.log.next_offset + 1
        self.led.append(batch, read_header(batch), Unheard(), 0, now=self.desk.machine.clock.wall())
        await until(lambda: self.led.log.log_end_offset == end)

    def fetched(self, offset: int | None = None) -> None:
        """The other broker has all below, or simply all."""
        upto = self.led.log.log_end_offset if offset is None else offset
        fetch = FollowerFetch(OTHER, Offset(upto), self.led.leader_epoch)
        clock = self.desk.machine.clock
        self.led.carry_out(self.led.leader.on_follower_fetch(fetch, clock.monotonic()))

    def end(
        self,
        *partitions: TopicPartition,
        committed: bool = True,
        producer: int = PRODUCER,
        epoch: int = 0,
        coordinator: int = 0,
        transactions: int = 0,
    ) -> Ending:
        """A marker of this version of transactions for each partition, `orders` by default."""
        topics: dict[str, list[int]] = {}
        for name, number in partitions or (ORDERS,):
            topics.setdefault(name, []).append(number)
        marker = WritableTxnMarker(
            producer,
            epoch,
            committed,
            [WritableTxnMarkerTopic(*it) for it in topics.items()],
            coordinator,
            transactions,
        )
        return self.ask(WriteTxnMarkersRequest([marker]))

    def ask(self, request: WriteTxnMarkersRequest) -> Ending:
        """As it came from a coordinator."""
        ending = Ending(2)
        write_txn_markers.handle(self.services, ending.pending, request)
        return ending

    async def ended(self, *partitions: TopicPartition, **how: Any) -> list[ErrorCode]:
        """Likewise, with the other broker fetching at once."""
        ending = self.end(*partitions, **how)
        for _ in range(200):
            if ending.outcome() is None:
                await self.desk.seconds(0.01)
                self.fetched()
        found = ending.outcome()
        assert found is not None, "there is no answer"
        return found

    async def turns(self, seconds: float = 0.05) -> None:
        """Time passes."""
        await self.desk.seconds(seconds)


class Unheard:
    """A writer that does not care."""

    def on_written(self, place: int, error: object) -> None:
        """Nothing."""

    def on_stuck(self, place: int, patience: object) -> None:
        """Nothing."""


Talk = Callable[[Floor], Coroutine[Any, Any, None]]


def live(ground: Ground, talk: Talk, *, cleanly: bool = True) -> None:
    """One life of the broker."""

    async def main(desk: Desk) -> None:
        await talk(Floor(desk))

    known = Known(orders=1, **{GROUP_METADATA_TOPIC: 1})
    group_desk.live(ground, main, known, cleanly=cleanly)

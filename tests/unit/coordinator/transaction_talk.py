"""A partition of a coordinator of transactions to talk to.

By default every marker is written at once; `hold_markers()` lets the leaders wait.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from odradek.coordinator.batches import to_batches
from odradek.coordinator.decision import Append, CoordinatorEffects, Entry, Ticket
from odradek.coordinator.shard import Shard
from odradek.coordinator.transactions.codec import decode, encoder
from odradek.coordinator.transactions.machine import TransactionMachine
from odradek.coordinator.transactions.requests import (
    AddPartitions,
    DescribeTransaction,
    EndTransaction,
    InitProducer,
    VerifyPartitions,
)
from odradek.coordinator.transactions.settings import WRITE_MS_MAX, TransactionSettings
from odradek.coordinator.transactions.transactions import Outside
from odradek.coordinator.transactions.values import EPOCH_MAX, Ending, Identity, TransactionKey
from odradek.model.errors import ErrorCode
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.model.units import Millis
from tests.unit.coordinator.shard_talk import BATCH_BYTES, SECOND, ShardTalk

ID = "copier"
A, B, C = (TopicPartition("orders", number) for number in range(3))


class TransactionTalk(ShardTalk):
    """One partition of a coordinator of transactions, and what it has sent."""

    decode = staticmethod(decode)

    def __init__(self, settings: TransactionSettings | None = None, level: int = 0) -> None:
        self.settings = settings or TransactionSettings()
        self.level = level
        self.ids = iter(range(7000, 8000))
        self.markers_held = False
        self.sent: list[Ending] = []  # markers that no leader has yet
        self.markers: list[Ending] = []  # all that were ever sent
        super().__init__()

    def new_shard(self) -> Shard:
        """Around a new machine."""
        outside = Outside(lambda: ProducerId(next(self.ids)), lambda: self.level)
        self.machine = TransactionMachine(self.settings, outside)
        return Shard(self.machine, WRITE_MS_MAX)

    def batches(self, append: Append) -> Iterable[bytearray]:
        """In the version of the cluster's level."""
        encode = encoder(lambda: self.level)
        return to_batches(append.records, encode, self.now.wall, bytes_max=BATCH_BYTES)

    def fail_over(self, *, losing: bool = False) -> None:
        """What was sent is forgotten, too."""
        self.sent.clear()
        super().fail_over(losing=losing)

    def hold_markers(self) -> None:
        """From now on no leader answers."""
        self.markers_held = True

    def mark(self, *partitions: TopicPartition) -> None:
        """The leaders of these have their markers; without any, all have."""
        sent, self.sent = self.sent, []
        for ending in sent:
            given = frozenset(partitions) or ending.partitions
            left = ending.partitions - given
            if left:
                self.sent.append(ending._replace(partitions=left))
            marked = partial(self.machine.marked, ending, given)
            self.settle(self.shard.on_event(marked, self.now))

    def settle(self, effects: CoordinatorEffects) -> None:
        """And every marker is written at once."""
        super().settle(effects)
        if self.sent and not self.markers_held and not self.held:
            self.mark()

    def take(self, effects: CoordinatorEffects) -> None:
        """And what is sent is kept."""
        self.sent += effects.send
        self.markers += effects.send
        super().take(effects)

    # -- requests ---------------------------------------------------------------------------------

    def init(self, expected: Identity | None = None, **more: Any) -> Ticket:
        """InitProducerId."""
        fields: dict[str, Any] = {"transactional_id": ID, "timeout": Millis(60 * SECOND)} | more
        return self.ask(InitProducer(expected=expected, **fields))

    def begun(self, ticket: Ticket) -> Identity | ErrorCode:
        """What InitProducerId was answered."""
        answer = self.said(ticket)
        if answer.error_code:
            return ErrorCode(answer.error_code)
        return Identity(answer.producer_id, answer.producer_epoch)

    def producer(self, **more: Any) -> Identity:
        """A new process of the producer."""
        found = self.begun(self.init(**more))
        assert isinstance(found, Identity), found
        return found

    def near_the_last_epoch(self) -> Identity:
        """A producer that has had nearly all its lives: so its record says."""
        me = self.producer()._replace(producer_epoch=ProducerEpoch(EPOCH_MAX - 3))
        known = self.machine.all.known[ID]
        self.write(Append(-1, (Entry(TransactionKey(ID), known._replace(identity=me)),)))
        self.fail_over()
        return me

    def add(
        self, identity: Identity, *partitions: TopicPartition, is_of_broker: bool = False
    ) -> Ticket:
        """AddPartitionsToTxn."""
        return self.ask(AddPartitions(ID, identity, frozenset(partitions), is_of_broker))

    def verify(self, identity: Identity, *partitions: TopicPartition) -> list[ErrorCode]:
        """What their leaders hear of partitions of one topic."""
        answer = self.said(self.ask(VerifyPartitions(ID, identity, frozenset(partitions))))
        (topic,) = answer.topic_results
        return [ErrorCode(row.partition_error_code) for row in topic.results_by_partition]

    def finish(self, identity: Identity, *, committed: bool = True, version: int = 0) -> Ticket:
        """EndTxn."""
        return self.ask(EndTransaction(ID, identity, committed, version))

    def code(self, ticket: Ticket) -> ErrorCode:
        """What a request was answered."""
        answer = self.said(ticket)
        return answer if isinstance(answer, ErrorCode) else ErrorCode(answer.error_code)

    def next_identity(self, ticket: Ticket) -> Identity:
        """Who the producer is in its next transaction, by the answer to EndTxn."""
        answer = self.said(ticket)
        assert not answer.error_code, answer
        return Identity(answer.producer_id, ProducerEpoch(answer.producer_epoch))

    def state(self) -> str:
        """The state that an operator sees."""
        state = self.said(self.ask(DescribeTransaction(ID))).transaction_state
        assert isinstance(state, str)
        return state

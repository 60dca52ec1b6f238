"""A producer with a transactional id that blocks: finished batches, seen together or not.

As `transactional_producer`, for processes without a loop. Other processes that go on as the same
producer flush before the end is asked for.
"""

from collections.abc import Mapping
from typing import Any

from odradek.client.blocking.cluster import BlockingCluster
from odradek.client.blocking.producer import (
    BlockingProducer,
    BlockingProducerSettings,
    InTransactions,
)
from odradek.client.coordinators import TRANSACTION
from odradek.client.errors import Refused
from odradek.client.records.group_offsets import Committer
from odradek.client.records.sequencing import Produced, ProducerIdentity
from odradek.client.records.transaction_requests import (
    ADD_PARTITIONS,
    INIT,
    NO_MEMBER,
    TransactionalIdentity,
    Versions,
    check_all,
    check_rows,
)
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import ProducerId, TopicPartition
from odradek.model.positions import ProducerEpoch
from odradek.model.units import Millis
from odradek.wire.schema import Request


class BlockingTransactionalProducer:
    """Of one process; `begin` fences those of the same id."""

    def __init__(
        self,
        cluster: BlockingCluster,
        identity: TransactionalIdentity,
        *,
        versions: Versions,
        settings: BlockingProducerSettings,
        timeout: Millis,
    ) -> None:
        self.identity = identity
        self._cluster = cluster
        self._versions = versions
        self._settings = settings
        self._timeout = timeout
        self._producer: BlockingProducer | None = None
        self._added: set[TopicPartition] = set()
        self._is_in_doubt = False  # whether a batch may be there that was not acknowledged
        self._is_shared = False  # whether another process counts in this transaction, too
        self._needs_epoch = False  # whether the next transaction needs another epoch

    def begin(self) -> None:
        """As somebody new: what a process before has left open is aborted."""
        self._init(goes_on=False)

    def hand_on(self) -> TransactionalIdentity:
        """For other processes, in this transaction alone: each writes to partitions of its own."""
        self._renew_epoch()
        self._is_shared = True
        return self.identity

    def go_on_as(self, identity: TransactionalIdentity) -> None:
        """As a producer that another process has handed on; one of the two ends the transaction."""
        if identity != self.identity:
            self._become(identity)
        self._is_shared = True

    def send(self, partition: TopicPartition, batch: bytearray) -> None:
        """Takes one finished batch, and returns before it is acknowledged."""
        self._renew_epoch()
        if self._versions.names_partitions and partition not in self._added:
            self._ask(self.identity.add([partition]), ADD_PARTITIONS)
            self._added.add(partition)
        producer = self._producer or self._begin_to_send()
        self._is_in_doubt = True
        try:
            producer.send(partition, batch)
        except BrokerError:
            self._producer = None
            raise

    def flush(self) -> list[Produced]:
        """Returns once all is acknowledged: the batches since the last flush.

        After an error it is not known what is there: the transaction can only be aborted.
        """
        if self._producer is None:
            self._check_not_in_doubt()
            return []
        try:
            produced = self._producer.flush()
        except BrokerError:
            self._producer = None
            raise
        self._is_in_doubt = False
        return produced

    def commit_offsets(
        self,
        group: str,
        positions: Mapping[TopicPartition, int],
        who: Committer = NO_MEMBER,
        *,
        metadata: str = "",
    ) -> None:
        """Where a group goes on, if the transaction is committed; and a text beside it."""
        self._renew_epoch()
        if self._versions.add_offsets is not None:
            self._ask(self.identity.add_offsets(group), self._versions.add_offsets)
        request = self.identity.commit_offsets(group, positions, who, metadata)
        version = self._versions.commit_offsets
        self._cluster.ask_coordinator(group, request, version=version, checked=check_rows)

    def commit(self) -> None:
        """Flushes. Once this returns, the transaction is committed for good."""
        self.flush()
        self._end(committed=True)

    def abort(self) -> None:
        """Readers of committed records never see it."""
        if self._is_in_doubt:
            self._producer = None  # or what it has not delivered would go into the next one
        self._end(committed=False)

    def _renew_epoch(self) -> None:
        if self._needs_epoch:
            self._init(goes_on=True)

    def _check_not_in_doubt(self) -> None:
        if self._is_in_doubt:
            raise Refused(ErrorCode.TRANSACTION_ABORTABLE, "not all of it was acknowledged")

    def _begin_to_send(self) -> BlockingProducer:
        self._check_not_in_doubt()
        name, producer_id, epoch = self.identity
        identity = ProducerIdentity(ProducerId(producer_id), ProducerEpoch(epoch))
        transactions = InTransactions(name, identity, self._versions.produce)
        self._producer = BlockingProducer(self._cluster, self._settings, transactions)
        return self._producer

    def _init(self, *, goes_on: bool) -> None:
        request = self.identity.init(self._timeout, goes_on=goes_on)
        self._become(self.identity.after(self._ask(request, INIT)))

    def _end(self, *, committed: bool) -> None:
        answer = self._ask(self.identity.end(committed=committed), self._versions.end)
        if answer.producer_id >= 0:
            self._become(self.identity.after(answer))
            return
        self._added.clear()
        self._needs_epoch |= self._is_in_doubt or self._is_shared
        self._is_in_doubt = self._is_shared = False

    def _ask(self, request: Request, version: int) -> Any:
        name = self.identity.transactional_id
        return self._cluster.ask_coordinator(
            name, request, TRANSACTION, version=version, checked=check_all
        )

    def _become(self, identity: TransactionalIdentity) -> None:
        self.identity = identity
        self._producer = None
        self._added.clear()
        self._is_in_doubt = self._is_shared = self._needs_epoch = False

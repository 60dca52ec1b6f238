"""A producer with a transactional id: what it sends is seen together with its offsets, or not.

One transaction after the other; in each, records and offsets of groups, and then its end. In one
transaction other processes may go on as the same producer (`hand_on`, `go_on_as`). Each partition
has one writer in it, which counts its sequence numbers, and no other process knows them. So where
more than one has written, or a batch may be there that was not acknowledged, the next transaction
has another epoch: in version 1 the epoch stays, and numbers that begin again are taken for repeats.

A refusal that asking again cannot mend ends the transaction: `abort`, and if that is refused, too,
`begin` as somebody new. A ProducerFenced says that another process has done so.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

from odradek.client.cluster import Cluster
from odradek.client.coordinators import TRANSACTION
from odradek.client.errors import Refused, check
from odradek.client.records.group_offsets import Committer
from odradek.client.records.producer import STALE
from odradek.client.records.transaction_requests import (
    ADD_PARTITIONS,
    INIT,
    NO_MEMBER,
    TIMEOUT,
    V1,
    V2,
    TransactionalIdentity,
    Versions,
    check_all,
    check_rows,
)
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND, Millis
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

ACKS_ALL: Final = -1
PRODUCE_TIMEOUT: Final = Millis(10 * SECOND)
__all__ = ["V1", "V2", "TransactionalIdentity", "TransactionalProducer", "Versions"]


class TransactionalProducer:
    """Of one process; `begin` fences those of the same id."""

    def __init__(
        self,
        cluster: Cluster,
        transactional_id: str,
        versions: Versions = V2,
        timeout: Millis = TIMEOUT,
    ) -> None:
        self.identity = TransactionalIdentity(transactional_id)
        self._cluster = cluster
        self._versions = versions
        self._timeout = timeout
        self._sequences: dict[TopicPartition, int] = {}
        self._added: set[TopicPartition] = set()
        self._is_in_doubt = False  # whether a batch may be there that was not acknowledged
        self._is_shared = False  # whether another process counts in this transaction, too
        self._needs_epoch = False  # whether the next transaction needs another epoch

    async def begin(self) -> None:
        """As somebody new: what a process before has left open is aborted."""
        await self._init(goes_on=False)

    async def hand_on(self) -> TransactionalIdentity:
        """For other processes, in this transaction alone: each writes to partitions of its own."""
        await self._renew_epoch()
        self._is_shared = True
        return self.identity

    def go_on_as(self, identity: TransactionalIdentity) -> None:
        """As a producer that another process has handed on; one of the two ends the transaction."""
        if identity != self.identity:
            self._become(identity)
        self._is_shared = True

    async def send(self, records: Mapping[TopicPartition, Iterable[Record]]) -> None:
        """A batch for each partition; returns when all are acknowledged.

        After an error it is not known what of it is there: the transaction can only be aborted.
        """
        await self._renew_epoch()
        if self._versions.names_partitions:
            await self._add({*records} - self._added)
        self._is_in_doubt, was_in_doubt = True, self._is_in_doubt
        for partition, rows in records.items():
            batch = [replace(it, offset=number) for number, it in enumerate(rows)]
            await self._produce(partition, batch)
            self._sequences[partition] = self._sequences.get(partition, 0) + len(batch)
        self._is_in_doubt = was_in_doubt

    async def commit_offsets(
        self,
        group: str,
        positions: Mapping[TopicPartition, int],
        who: Committer = NO_MEMBER,
    ) -> None:
        """Where a group goes on, if the transaction is committed."""
        await self._renew_epoch()
        if self._versions.add_offsets is not None:
            await self._ask(self.identity.add_offsets(group), self._versions.add_offsets)
        request = self.identity.commit_offsets(group, positions, who)
        version = self._versions.commit_offsets
        await self._cluster.ask_coordinator(group, request, version=version, checked=check_rows)

    async def commit(self) -> None:
        """Once this returns, the transaction is committed for good."""
        if self._is_in_doubt:
            raise Refused(ErrorCode.TRANSACTION_ABORTABLE, "not all of it was acknowledged")
        await self._end(committed=True)

    async def abort(self) -> None:
        """Readers of committed records never see it."""
        await self._end(committed=False)

    async def _renew_epoch(self) -> None:
        if self._needs_epoch:
            await self._init(goes_on=True)

    async def _init(self, *, goes_on: bool) -> None:
        request = self.identity.init(self._timeout, goes_on=goes_on)
        self._become(self.identity.after(await self._ask(request, INIT)))

    async def _end(self, *, committed: bool) -> None:
        answer = await self._ask(self.identity.end(committed=committed), self._versions.end)
        if answer.producer_id >= 0:
            self._become(self.identity.after(answer))
            return
        self._added.clear()
        self._needs_epoch |= self._is_in_doubt or self._is_shared
        self._is_in_doubt = self._is_shared = False

    async def _add(self, partitions: set[TopicPartition]) -> None:
        if partitions:
            await self._ask(self.identity.add(partitions), ADD_PARTITIONS)
            self._added |= partitions

    async def _produce(self, partition: TopicPartition, batch: list[Record]) -> None:
        """Until it is there; a repeat of what is there is no second one."""
        data = build_batch(
            batch,
            producer_id=self.identity.producer_id,
            producer_epoch=self.identity.producer_epoch,
            base_sequence=self._sequences.get(partition, 0),
            transactional=True,
        )
        topics = [
            TopicProduceData(
                partition.topic, partition_data=[PartitionProduceData(partition.partition, data)]
            )
        ]
        name = self.identity.transactional_id
        request = ProduceRequest(name, ACKS_ALL, PRODUCE_TIMEOUT, topics)

        async def attempt() -> None:
            leader = await self._cluster.leader(partition)
            answer = await leader.ask(request, self._versions.produce)
            row = answer.responses[0].partition_responses[0]
            if row.error_code in STALE:
                self._cluster.forget(partition.topic)
            if row.error_code != ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                check(row.error_code, about=str(partition))

        await self._cluster.patiently(attempt)

    async def _ask(self, request: Any, version: int) -> Any:
        return await self._cluster.ask_coordinator(
            self.identity.transactional_id,
            request,
            TRANSACTION,
            version=version,
            checked=check_all,
        )

    def _become(self, identity: TransactionalIdentity) -> None:
        self.identity = identity
        self._sequences.clear()
        self._added.clear()
        self._is_in_doubt = self._is_shared = self._needs_epoch = False

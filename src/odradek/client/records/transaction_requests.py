"""What a producer with a transactional id asks, in both versions of transactions; without a shell.

Version 1 names the partitions of a transaction to the coordinator before it sends to them; in
version 2 (KIP-890) their leaders do, and every transaction has an epoch of its own.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from odradek.client.errors import Refused, check
from odradek.client.records.group_offsets import Committer
from odradek.model.ids import TopicPartition, by_topic
from odradek.model.units import SECOND, Millis
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)

TIMEOUT: Final = Millis(60 * SECOND)


class Versions(NamedTuple):
    """Of the requests of one version of transactions."""

    produce: int
    add_offsets: int | None  # None: the commit adds them itself
    commit_offsets: int
    end: int

    @property
    def names_partitions(self) -> bool:
        """Whether the producer does, and not the leaders."""
        return self.add_offsets is not None


V1: Final = Versions(produce=9, add_offsets=3, commit_offsets=3, end=3)
V2: Final = Versions(produce=12, add_offsets=None, commit_offsets=5, end=5)
ADD_PARTITIONS: Final = 3
INIT: Final = 4
NO_MEMBER: Final = Committer()


class TransactionalIdentity(NamedTuple):
    """What names a producer; each process that has it may write in its transaction."""

    transactional_id: str
    producer_id: int = -1
    producer_epoch: int = -1

    def init(self, timeout: Millis, *, goes_on: bool) -> InitProducerIdRequest:
        """As somebody new, or as this one, with a higher epoch."""
        before = self[1:] if goes_on else (-1, -1)
        return InitProducerIdRequest(self.transactional_id, timeout, *before)

    def after(self, answer: Any) -> "TransactionalIdentity":
        """As InitProducerId, or EndTxn of version 2, has answered."""
        return self._replace(producer_id=answer.producer_id, producer_epoch=answer.producer_epoch)

    def add(self, partitions: Iterable[TopicPartition]) -> AddPartitionsToTxnRequest:
        """These are in the transaction."""
        topics = [AddPartitionsToTxnTopic(*it) for it in by_topic(sorted(partitions)).items()]
        return AddPartitionsToTxnRequest((), *self, topics)

    def add_offsets(self, group: str) -> AddOffsetsToTxnRequest:
        """The positions of this group are, too."""
        return AddOffsetsToTxnRequest(*self, group)

    def commit_offsets(
        self,
        group: str,
        positions: Mapping[TopicPartition, int],
        who: Committer,
        metadata: str = "",
    ) -> TxnOffsetCommitRequest:
        """Asked of the group's coordinator."""
        rows: dict[str, list[TxnOffsetCommitRequestPartition]] = {}
        for (topic, number), offset in positions.items():
            row = TxnOffsetCommitRequestPartition(number, offset, committed_metadata=metadata)
            rows.setdefault(topic, []).append(row)
        return TxnOffsetCommitRequest(
            self.transactional_id,
            group,
            self.producer_id,
            self.producer_epoch,
            who.generation,
            who.member_id,
            who.instance_id,
            topics=[TxnOffsetCommitRequestTopic(*it) for it in rows.items()],
        )

    def end(self, *, committed: bool) -> EndTxnRequest:
        """The end."""
        return EndTxnRequest(*self, committed=committed)


def check_all(answer: Any) -> None:
    """Raises what a coordinator of transactions refuses."""
    check(getattr(answer, "error_code", 0))
    for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
        for row in topic.results_by_partition:
            check(row.partition_error_code, about=f"{topic.name}-{row.partition_index}")


def check_rows(answer: Any) -> None:
    """Raises what a group's coordinator refuses."""
    for topic in answer.topics:
        for row in topic.partitions:
            if row.error_code:
                raise Refused(row.error_code, about=f"{topic.name}-{row.partition_index}")

"""A client that blocks: plain sockets, no loop, no threads; for processes such as Spark's workers.

Decisions are those of the client's cores (`cluster_metadata`, `offsets`, `fetching`, `sequencing`,
`group_offsets`, `retries`); the shells (`blocking_*`) send, wait and try again. Connections are
made when they are needed, one for each broker. One thread at a time; not to be used across a fork.

Records are not decoded: `fetch` gives whole batches as views of what came from the socket, and the
producer takes batches that somebody has built.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from odradek.client.blocking.cluster import BlockingCluster
from odradek.client.blocking.fetch import fetch_range
from odradek.client.blocking.producer import BlockingProducer, BlockingProducerSettings
from odradek.client.blocking.security import BlockingSecurity
from odradek.client.blocking.transactional_producer import BlockingTransactionalProducer
from odradek.client.cluster_metadata import ClusterMetadata, TopicMetadata
from odradek.client.errors import DataLost, LogTruncated, OffsetExpired, TopicRecreated, check
from odradek.client.records.fetching import FetchedBytes, FetchSettings, RangeFetch
from odradek.client.records.group_offsets import (
    Committer,
    Note,
    check_commit,
    check_committed,
    commit_request,
    committed_request,
    read_committed,
    read_notes,
)
from odradek.client.records.offsets import (
    EARLIEST,
    LATEST,
    Answers,
    EpochEnd,
    FoundOffset,
    Position,
    by_leader,
    epoch_ends,
    list_offsets,
    read_epoch_ends,
    read_list_offsets,
)
from odradek.client.records.transaction_requests import TIMEOUT, V2, TransactionalIdentity, Versions
from odradek.client.retries import PATIENCE
from odradek.model.errors import BrokerError
from odradek.model.ids import NO_TOPIC_ID, TopicId, TopicPartition
from odradek.model.positions import LeaderEpoch
from odradek.model.units import Millis
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.schema import Request

V = TypeVar("V")
W = TypeVar("W")

TOPIC: Final = 2
"""The type of a resource that has settings."""

Question = tuple[Request, Callable[[Any], None]]
"""What to ask one leader, and who reads the answer."""


class BlockingClient:
    """A cluster, from outside. Close it, or use it as a context."""

    def __init__(
        self,
        bootstrap: str,
        *,
        client_id: str = "odradek",
        patience_ms: Millis = PATIENCE,
        security: Mapping[str, str] | None = None,
    ) -> None:
        """`security`: settings of Kafka's clients, such as `security.protocol`."""
        secured = BlockingSecurity(security) if security else None
        self._cluster = BlockingCluster(bootstrap, client_id, patience_ms, secured)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes every connection."""
        self._cluster.close()

    # The cluster

    def cluster(self, topics: Iterable[str] | None = None) -> ClusterMetadata:
        """Brokers, the cluster's id, and these topics with ids, leaders and epochs; None: all.

        A topic that does not exist is among them, with its error.
        """
        names = None if topics is None else list(topics)
        return self._cluster.patiently(lambda: self._cluster.refresh(names))

    def topic(self, name: str) -> TopicMetadata:
        """One topic; raises why it cannot be had."""
        found = self.cluster([name]).topics[name]
        check(found.error, f"topic {name!r}")
        return found

    def topic_settings(self, name: str) -> dict[str, str | None]:
        """The settings of a topic as they are now, defaults included."""
        request = DescribeConfigsRequest([DescribeConfigsResource(TOPIC, name, None)])

        def attempt() -> Any:
            (found,) = self._cluster.any().ask(request).results
            check(found.error_code, found.error_message)
            return {row.name: row.value for row in found.configs}

        return dict(self._cluster.patiently(attempt))

    # Offsets

    def offsets(
        self, wanted: Mapping[TopicPartition, int], *, committed: bool = False
    ) -> dict[TopicPartition, FoundOffset]:
        """By partition the offset of EARLIEST, LATEST or a timestamp in milliseconds.

        With `committed` LATEST is the last stable offset. Offset -1: no record is so young.
        """

        def ask(theirs: Mapping[TopicPartition, int], answers: Answers[FoundOffset]) -> Question:
            request = list_offsets(self._cluster.metadata, theirs, committed=committed)
            return request, lambda answer: read_list_offsets(answer, answers)

        return self._ask_leaders(wanted, ask)

    def epoch_ends(
        self, wanted: Mapping[TopicPartition, LeaderEpoch]
    ) -> dict[TopicPartition, EpochEnd]:
        """Where each of these leader epochs ends in its leader's log."""

        def ask(
            theirs: Mapping[TopicPartition, LeaderEpoch], answers: Answers[EpochEnd]
        ) -> Question:
            request = epoch_ends(self._cluster.metadata, theirs)
            return request, lambda answer: read_epoch_ends(answer, answers)

        return self._ask_leaders(wanted, ask)

    def lost(
        self,
        positions: Mapping[TopicPartition, Position],
        topic_ids: Mapping[str, TopicId] | None = None,
    ) -> dict[TopicPartition, DataLost]:
        """Those of these positions from which reading cannot go on, and why.

        `topic_ids` are the ids that the topics had when the positions were noted.
        """
        found: dict[TopicPartition, DataLost] = {}
        metadata = self.cluster(sorted({it.topic for it in positions}))
        for partition, (offset, _) in positions.items():
            expected = (topic_ids or {}).get(partition.topic, NO_TOPIC_ID)
            now = metadata.topic_id(partition.topic)
            if NO_TOPIC_ID not in (expected, now) and expected != now:
                found[partition] = TopicRecreated(partition, offset, expected, now)
        left = {it: position for it, position in positions.items() if it not in found}
        starts = self.offsets(dict.fromkeys(left, EARLIEST))
        ends = self.offsets(dict.fromkeys(left, LATEST))
        with_epoch = {it: row.leader_epoch for it, row in left.items() if row.leader_epoch >= 0}
        epochs = self.epoch_ends(with_epoch)
        for partition, (offset, _) in left.items():
            end = ends[partition].offset
            epoch_end = epochs[partition].end_offset if partition in epochs else -1
            if offset < starts[partition].offset:
                found[partition] = OffsetExpired(partition, offset, starts[partition].offset)
            elif offset > end or 0 <= epoch_end < offset:
                diverges_at = min(end, epoch_end) if epoch_end >= 0 else end
                found[partition] = LogTruncated(partition, offset, diverges_at)
        return found

    def _ask_leaders(
        self,
        wanted: Mapping[TopicPartition, V],
        ask: Callable[[Mapping[TopicPartition, V], Answers[W]], Question],
    ) -> dict[TopicPartition, W]:
        """Asks all leaders at once, and again for what some of them refused."""
        cluster, answers = self._cluster, Answers[W]()

        def attempt() -> None:
            left = {it: value for it, value in wanted.items() if it not in answers.found}
            answers.refused.clear()
            try:
                cluster.learn(it.topic for it in left)
                pending = []
                for leader, theirs in by_leader(cluster.metadata, left).items():
                    request, read = ask(theirs, answers)
                    pending.append((read, cluster.broker(leader).send(request)))
                for read, answer in pending:
                    read(answer.wait())
                for refused in answers.refused.values():
                    raise refused
            except BrokerError:
                cluster.forget({it.topic for it in left if it not in answers.found})
                raise

        cluster.patiently(attempt)
        return {it: answers.found[it] for it in wanted}

    # Reading

    def fetch(
        self,
        partition: TopicPartition,
        start: Position,
        end: int,
        settings: FetchSettings = FetchSettings(),  # noqa: B008 - it cannot be changed
    ) -> Iterator[FetchedBytes]:
        """Whole batches from `start` up to, not including, `end`, with one request ahead.

        Raises OffsetExpired, LogTruncated or TopicRecreated (each is a DataLost) when the records
        are no more, and EndNotReached when nothing more comes for as long as patience lasts.
        """
        return fetch_range(self._cluster, RangeFetch(partition, start, end, settings))

    # Writing

    def producer(
        self,
        settings: BlockingProducerSettings = BlockingProducerSettings(),  # noqa: B008 - frozen
    ) -> BlockingProducer:
        """A producer with an identity of its own; it takes finished batches."""
        return BlockingProducer(self._cluster, settings)

    def transactional_producer(
        self,
        transactional_id: str,
        versions: Versions = V2,
        settings: BlockingProducerSettings = BlockingProducerSettings(),  # noqa: B008 - frozen
        timeout: Millis = TIMEOUT,
    ) -> BlockingTransactionalProducer:
        """A producer whose batches are seen together, or not; first it has to `begin`."""
        identity = TransactionalIdentity(transactional_id)
        return BlockingTransactionalProducer(
            self._cluster, identity, versions=versions, settings=settings, timeout=timeout
        )

    # Groups

    def commit(
        self,
        group: str,
        positions: Mapping[TopicPartition, Position],
        who: Committer = Committer(),  # noqa: B008 - it cannot be changed
    ) -> None:
        """Moves a group's committed offsets; without a member only where it has none."""
        if positions:
            request = commit_request(group, positions, who)
            check_commit(self._cluster.ask_coordinator(group, request))

    def committed(
        self, group: str, partitions: Iterable[TopicPartition] | None = None
    ) -> dict[TopicPartition, Position]:
        """Where a group is; None: everywhere that it has committed."""
        request = committed_request(group, partitions)
        return read_committed(self._cluster.ask_coordinator(group, request))

    def notes(self, group: str, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Note]:
        """Where a group is, with the texts beside it.

        What a transaction is about to commit is waited for.
        """
        request = committed_request(group, partitions, stable=True)
        return read_notes(self._cluster.ask_coordinator(group, request, checked=check_committed))

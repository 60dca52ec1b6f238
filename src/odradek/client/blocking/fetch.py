"""Reading a range with one request ahead: the shell around `RangeFetch`.

As soon as an answer is there its end is known, and the next request goes out before the bytes are
handed to the caller: the broker works while the caller decodes.
"""

from collections.abc import Iterator
from typing import Final

from odradek.client.blocking.cluster import BlockingCluster, pause
from odradek.client.blocking.connection import PendingAnswer
from odradek.client.blocking.wire import now
from odradek.client.connection_limits import FETCH_BY_NAME
from odradek.client.errors import (
    DataLost,
    LogTruncated,
    OffsetExpired,
    Refused,
    TopicRecreated,
    check,
)
from odradek.client.records.fetching import FetchedBytes, RangeFetch
from odradek.client.records.offsets import (
    EARLIEST,
    LATEST,
    Answers,
    EpochEnd,
    FoundOffset,
    epoch_ends,
    list_offsets,
    read_epoch_ends,
    read_list_offsets,
)
from odradek.client.retries import Retries
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId
from odradek.wire.messages.fetch import FetchRequest

ID_ERRORS: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID})


class EndNotReached(BrokerError):
    """The partition got no further records for as long as patience lasts."""

    code = ErrorCode.REQUEST_TIMED_OUT


def fetch_range(cluster: BlockingCluster, plan: RangeFetch) -> Iterator[FetchedBytes]:
    """All answers of a range, in order."""
    reader = _RangeReader(cluster, plan)
    retries = Retries(now(), cluster.patience)
    while not plan.is_done():
        try:
            fetched = reader.next()
        except DataLost:
            raise
        except BrokerError as error:
            pause(retries.pause_after(reader.mend(error), now()))
            continue
        if fetched is not None:
            retries.progress(now())
            yield fetched
            retries.progress(now())  # the caller's time is no wait of ours
        elif not plan.is_done() and retries.is_over(now()):
            where = f"{plan.partition} at offset {plan.position.offset}"
            raise EndNotReached(f"{where}: no records up to {plan.end}")


class _RangeReader:
    """Sends and receives for one range; of what it knows nothing survives an error."""

    def __init__(self, cluster: BlockingCluster, plan: RangeFetch) -> None:
        if plan.topic_id != NO_TOPIC_ID:  # it may have been deleted since it was last asked for
            cluster.forget([plan.partition.topic])
        self._cluster = cluster
        self._plan = plan
        self._ahead: PendingAnswer | None = None

    def next(self) -> FetchedBytes | None:
        """The next bytes; None: nothing has come in the time that a leader waits."""
        pending = self._ahead if self._ahead is not None else self._send()
        self._ahead = None
        fetched = self._plan.take(pending.wait())
        if fetched is None:  # before version 13 a leader does not notice another topic of the name
            self._cluster.forget([self._plan.partition.topic])
        if not self._plan.is_done():
            self._ahead = self._send()
        return fetched

    def _send(self) -> PendingAnswer:
        plan, cluster = self._plan, self._cluster
        cluster.learn([plan.partition.topic])
        broker = cluster.metadata.leader(plan.partition)
        self._check_topic_id()
        known = cluster.metadata.partition(plan.partition)
        assert known is not None, "it has a leader"
        connection = cluster.broker(broker)
        if plan.must_validate(known):
            plan.check_epoch_end(self._epoch_end(broker))
        by_name = FETCH_BY_NAME if plan.topic_id == NO_TOPIC_ID else None
        version = connection.versions.newest(FetchRequest.KEY, at_most=by_name)
        return connection.send(plan.request(known), version)

    def _check_topic_id(self) -> None:
        """TopicRecreated if the topic that has the name now is not the one that was meant."""
        plan = self._plan
        found = self._cluster.metadata.topic_id(plan.partition.topic)
        if plan.topic_id == NO_TOPIC_ID:
            plan.topic_id = found
        elif found not in (NO_TOPIC_ID, plan.topic_id):
            raise TopicRecreated(plan.partition, plan.position.offset, plan.topic_id, found)

    def mend(self, error: BrokerError) -> BrokerError:
        """Learns anew what an error may come from: DataLost, or what to be patient about."""
        plan, cluster = self._plan, self._cluster
        self._ahead = None
        cluster.forget([plan.partition.topic])
        if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
            cluster.patiently(self._explain_range)
            return Refused(ErrorCode.OFFSET_NOT_AVAILABLE, about=str(plan.partition))
        if error.code in ID_ERRORS:
            cluster.patiently(self._relearn_topic)
        return error

    def _relearn_topic(self) -> None:
        """A broker may know of a new topic later than another."""
        topic = self._cluster.refresh([self._plan.partition.topic]).topics
        check(topic[self._plan.partition.topic].error, self._plan.partition.topic)
        self._check_topic_id()

    def _explain_range(self) -> None:
        """The topic is another one, or the log begins later, or it ends earlier."""
        plan, cluster = self._plan, self._cluster
        cluster.learn([plan.partition.topic])
        self._check_topic_id()
        offset = plan.position.offset
        earliest, latest = self._offset(EARLIEST), self._offset(LATEST)
        if offset < earliest:
            raise OffsetExpired(plan.partition, offset, earliest)
        if offset > latest:
            raise LogTruncated(plan.partition, offset, latest)

    def _offset(self, which: int) -> int:
        cluster, partition = self._cluster, self._plan.partition
        answers: Answers[FoundOffset] = Answers()
        request = list_offsets(cluster.metadata, {partition: which})
        answer = cluster.broker(cluster.metadata.leader(partition)).ask(request)
        read_list_offsets(answer, answers)
        for refused in answers.refused.values():
            cluster.forget([partition.topic])
            raise refused
        return answers.found[partition].offset

    def _epoch_end(self, broker: BrokerId) -> EpochEnd:
        cluster, plan = self._cluster, self._plan
        answers: Answers[EpochEnd] = Answers()
        request = epoch_ends(cluster.metadata, {plan.partition: plan.position.leader_epoch})
        read_epoch_ends(cluster.broker(broker).ask(request), answers)
        for refused in answers.refused.values():
            raise refused
        return answers.found[plan.partition]

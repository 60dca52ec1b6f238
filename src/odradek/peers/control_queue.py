"""What one broker is still to be told by the controller: ordered, and bounded by its partitions.

While one request is on its way others wait, for a slow or stopped broker perhaps very many. What
waits is merged by partition: the newest state wins, `is_new` and the deletion of a replica stick.
A message to which nothing was merged is passed on as it is, shared with the other receivers; what
was merged goes out in requests of a thousand rows, between which sender and receiver do other work.

The order that matters is kept. What goes out next is, of what waits:

1. StopReplica with a deletion that was asked for before a LeaderAndIsr of the same partition: a
   topic of that name was created again, and its replica must not meet the old one's log;
2. UpdateMetadata, if it names other live brokers than the last one: a broker must know of a leader
   before it is told to follow it;
3. LeaderAndIsr: leaders begin before clients hear of them;
4. UpdateMetadata otherwise;
5. StopReplica.

Invariants: a partition waits in at most one StopReplica to be sent after its LeaderAndIsr; one
whose replica is to be deleted there waits in no LeaderAndIsr; of topics that had one name the
metadata of two wait at most, of the first, which the broker may know, and of the last.
"""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import islice
from typing import Final, Generic, NamedTuple, TypeVar

from odradek.model.ids import TopicPartition
from odradek.peers.control_message import ControlMessage
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from odradek.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from odradek.wire.schema import NO_UUID

FULL: Final = 2
"""The type of an UpdateMetadata beyond which nothing exists (KIP-866)."""
ROWS_MAX: Final = 5_000
"""Of one request that was merged: to build, to encode and to carry out takes tens of milliseconds
each, and the next waits for its answer: with 1,000 rows a failover of 10,000 partitions took a
second longer. The whole metadata is not divided: a broker that has just started shows it to clients
at once.
"""
EPOCH_DURING_DELETION: Final = -2
"""A leader epoch that no fence stops: it stands whatever came before or comes after it."""


R = TypeVar("R")


class Sender(NamedTuple):
    """The controller, as every one of its requests names it."""

    controller_id: int
    controller_epoch: int


class _Rows(Generic[R]):
    """Rows by topic and partition; those of a topic's later id stand behind those of an earlier."""

    __slots__ = ("_first", "_ids", "_topics")

    def __init__(self) -> None:
        self._topics: dict[tuple[str, bytes], dict[int, R]] = {}
        self._ids: dict[str, bytes] = {}  # the last that was heard of
        self._first: dict[str, bytes] = {}  # the first that has rows here

    def __len__(self) -> int:
        return sum(map(len, self._topics.values()))

    def of_topic(self, name: str, topic_id: bytes) -> dict[int, R]:
        """The rows of a topic."""
        self._ids[name] = topic_id
        self._first.setdefault(name, topic_id)
        return self._topics.setdefault((name, topic_id), {})

    def earlier(self, name: str, topic_id: bytes) -> dict[int, R] | None:
        """The rows that a topic of the same name and another id had."""
        known = self._ids.get(name, topic_id)
        return self._topics.get((name, known)) if known != topic_id else None

    def forget_between(self, name: str, topic_id: bytes) -> None:
        """Of topics of a name that was given again, the first stays: its end must be told.

        The receiver may know that one. Of those between it and this one it has heard nothing, and
        may not: rows are taken from the front.
        """
        known = self._ids.get(name, topic_id)
        if known not in {topic_id, self._first.get(name)}:
            self._topics.pop((name, known), None)

    def drop(self, partition: TopicPartition, topic_id: bytes) -> None:
        """If there is one; without an id that of the topic that was heard of last."""
        known = topic_id if topic_id != NO_UUID else self._ids.get(partition.topic, NO_UUID)
        rows = self._topics.get((partition.topic, known))
        if rows is not None:
            rows.pop(partition.partition, None)

    def take(self, count: int) -> Iterator[tuple[str, bytes, list[R]]]:
        """So many rows at most, by topic; they are here no more."""
        for key, rows in tuple(self._topics.items()):
            taken = [rows.pop(number) for number in tuple(islice(rows, count))]
            if not rows:
                self._leave(*key)
            if taken:
                yield *key, taken
            count -= len(taken)
            if not count:
                return

    def _leave(self, name: str, topic_id: bytes) -> None:
        del self._topics[name, topic_id]
        if self._first.get(name) == topic_id:
            self._first.pop(name)
            if (name, self._ids[name]) in self._topics:
                self._first[name] = self._ids[name]


class ControlQueue:
    """What waits for one life of a broker."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender
        self._deletions_first = _Stops()
        self._lead = _LeaderAndIsrWaiting()
        self._metadata = _MetadataWaiting()
        self._stops = _Stops()

    def __len__(self) -> int:
        """The count of partitions, once for each kind of request in which they wait."""
        stops = len(self._deletions_first) + len(self._stops)
        return stops + len(self._lead) + len(self._metadata)

    def __bool__(self) -> bool:
        return bool(self._deletions_first or self._lead or self._metadata or self._stops)

    def add(self, message: ControlMessage) -> None:
        """One more message, later than all that waits."""
        match message.request:
            case LeaderAndIsrRequest() as request:
                self._add_leader_and_isr(message, request)
            case UpdateMetadataRequest() as request:
                self._metadata.add(message, request)
            case StopReplicaRequest() as request:
                self._add_stop(request)

    def _add_leader_and_isr(self, message: ControlMessage, request: LeaderAndIsrRequest) -> None:
        for topic in request.topic_states if self._stops else ():
            for row in topic.partition_states:
                partition = TopicPartition(topic.topic_name, row.partition_index)
                for topic_id, stop in self._stops.pop_all(partition):
                    if stop.delete_partition:
                        self._deletions_first.put(partition, topic_id, stop)
        self._lead.add(message, request)

    def _add_stop(self, request: StopReplicaRequest) -> None:
        for topic in request.topic_states:
            for row in topic.partition_states:
                partition = TopicPartition(topic.topic_name, row.partition_index)
                stop = _merged_stop(self._stops.pop(partition, topic.topic_id), row)
                if stop.delete_partition:
                    self._lead.drop(partition, topic.topic_id)
                    first = self._deletions_first.pop(partition, topic.topic_id)
                    stop = _merged_stop(first, stop)
                self._stops.put(partition, topic.topic_id, stop)

    def take(self) -> ControlMessage | None:
        """What goes out next; it waits no more."""
        if self._deletions_first:
            stops, self._deletions_first = self._deletions_first, _Stops()
            return stops.message(self._sender)
        if self._metadata and (self._metadata.names_other_brokers or not self._lead):
            return self._metadata.take(self._sender)
        if self._lead:
            return self._lead.take(self._sender)
        if self._stops:
            stops, self._stops = self._stops, _Stops()
            return stops.message(self._sender)
        return None


def _merged_stop(
    old: StopReplicaPartitionState | None, new: StopReplicaPartitionState
) -> StopReplicaPartitionState:
    """A deletion sticks, and so does the epoch that no fence stops."""
    if old is None:
        return new
    epochs = old.leader_epoch, new.leader_epoch
    epoch = EPOCH_DURING_DELETION if EPOCH_DURING_DELETION in epochs else new.leader_epoch
    delete = old.delete_partition or new.delete_partition
    return StopReplicaPartitionState(new.partition_index, epoch, delete)


class _Stops:
    """Replicas that stop, of each topic that had the name: a broker may host only one of them."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[TopicPartition, dict[bytes, StopReplicaPartitionState]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(
        self, partition: TopicPartition, topic_id: bytes, row: StopReplicaPartitionState
    ) -> None:
        """Behind the others."""
        by_id = self._rows.pop(partition, {})
        by_id[topic_id] = row
        self._rows[partition] = by_id

    def pop(self, partition: TopicPartition, topic_id: bytes) -> StopReplicaPartitionState | None:
        """The stop of a replica of this very topic, if it is here."""
        by_id = self._rows.get(partition, {})
        row = by_id.pop(topic_id, None)
        if row is not None and not by_id:
            del self._rows[partition]
        return row

    def pop_all(
        self, partition: TopicPartition
    ) -> Iterable[tuple[bytes, StopReplicaPartitionState]]:
        """Those of all topics of the name, oldest first."""
        return self._rows.pop(partition, {}).items()

    def message(self, sender: Sender) -> ControlMessage:
        """All of them."""
        topics: dict[tuple[str, bytes], list[StopReplicaPartitionState]] = {}
        for partition, by_id in self._rows.items():
            for topic_id, row in by_id.items():
                topics.setdefault((partition.topic, topic_id), []).append(row)
        states = [
            StopReplicaTopicState(name, rows, topic_id) for (name, topic_id), rows in topics.items()
        ]
        return ControlMessage(
            StopReplicaRequest(
                controller_id=sender.controller_id,
                controller_epoch=sender.controller_epoch,
                topic_states=states,
            )
        )


class _LeaderAndIsrWaiting:
    """One message as it came, or rows of several."""

    def __init__(self) -> None:
        self._whole: ControlMessage | None = None
        self._rows: _Rows[LeaderAndIsrPartitionState] | None = None
        self._leaders: dict[int, LeaderAndIsrLiveLeader] = {}

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        topics = self._whole.request.topic_states if self._whole is not None else ()
        return sum(len(topic.partition_states) for topic in topics)

    def __bool__(self) -> bool:
        return self._whole is not None or (self._rows is not None and len(self._rows) > 0)

    def add(self, message: ControlMessage, request: LeaderAndIsrRequest) -> None:
        """Newer than what waits."""
        if self:
            self._merge(self._unfolded(), request)
        else:
            self._whole, self._rows, self._leaders = message, None, {}

    def drop(self, partition: TopicPartition, topic_id: bytes) -> None:
        """Its replica is to be deleted, so it need not begin."""
        if self:
            self._unfolded().drop(partition, topic_id)

    def take(self, sender: Sender) -> ControlMessage:
        """All of it, or a part."""
        whole, rows, leaders = self._whole, self._rows, self._leaders
        if rows is None:
            assert whole is not None, "it is asked only if something waits"
            self._whole = None
            return whole
        topics = [LeaderAndIsrTopicState(*topic) for topic in rows.take(ROWS_MAX)]
        if not rows:
            self._rows, self._leaders = None, {}
        named = {row.leader for topic in topics for row in topic.partition_states}
        return ControlMessage(
            LeaderAndIsrRequest(
                controller_id=sender.controller_id,
                controller_epoch=sender.controller_epoch,
                topic_states=topics,
                live_leaders=[it for number, it in leaders.items() if number in named],
            )
        )

    def _unfolded(self) -> _Rows[LeaderAndIsrPartitionState]:
        """What waits, as rows."""
        if self._rows is None:
            self._rows = _Rows()
            whole, self._whole = self._whole, None
            assert whole is not None, "it is asked only if something waits"
            assert isinstance(whole.request, LeaderAndIsrRequest)
            self._merge(self._rows, whole.request)
        return self._rows

    def _merge(self, rows: _Rows[LeaderAndIsrPartitionState], request: LeaderAndIsrRequest) -> None:
        for topic in request.topic_states:
            old = rows.earlier(topic.topic_name, topic.topic_id)
            mine = rows.of_topic(topic.topic_name, topic.topic_id)
            for row in topic.partition_states:
                number = row.partition_index
                before = mine.get(number)
                sticks = before is not None and before.is_new and not row.is_new
                mine[number] = _as_new(row) if sticks else row
                if old is not None:
                    old.pop(number, None)
        for leader in request.live_leaders:
            self._leaders[leader.broker_id] = leader


def _as_new(row: LeaderAndIsrPartitionState) -> LeaderAndIsrPartitionState:
    """The same state; rows are shared between queues, so it is another row."""
    again = copy(row)
    again.is_new = True
    return again


class _MetadataWaiting:
    """Likewise; the newest list of live brokers counts."""

    def __init__(self) -> None:
        self.names_other_brokers = False  # than the last one that was taken
        self._whole: ControlMessage | None = None
        self._rows: _Rows[UpdateMetadataPartitionState] | None = None
        self._type = 0  # of what waits; FULL sticks
        self._brokers: Sequence[UpdateMetadataBroker] | None = None  # None: nothing waits
        self._told: Sequence[UpdateMetadataBroker] | None = None  # of what was taken last

    def __len__(self) -> int:
        if self._rows is not None:
            return len(self._rows)
        topics = self._whole.request.topic_states if self._whole is not None else ()
        return sum(len(topic.partition_states) for topic in topics)

    def __bool__(self) -> bool:
        return self._brokers is not None

    def add(self, message: ControlMessage, request: UpdateMetadataRequest) -> None:
        """Newer than what waits, all of which it replaces if it is full."""
        if self and request.type != FULL:
            self._merge(self._unfolded(), request)
        else:
            self._whole, self._rows, self._type = message, None, request.type
        self._brokers = request.live_brokers
        self.names_other_brokers = self._told is None or list(self._brokers) != list(self._told)

    def take(self, sender: Sender) -> ControlMessage:
        """All of it, or a part."""
        whole, rows, brokers = self._whole, self._rows, self._brokers
        self._told, self.names_other_brokers = brokers, False
        if rows is None:
            assert whole is not None, "it is asked only if something waits"
            self._whole = self._brokers = None
            return whole
        topics = list(rows.take(len(rows) if self._type == FULL else ROWS_MAX))
        if not rows:
            self._rows = self._brokers = None
        return ControlMessage(
            UpdateMetadataRequest(
                controller_id=sender.controller_id,
                type=self._type,
                controller_epoch=sender.controller_epoch,
                topic_states=[UpdateMetadataTopicState(*topic) for topic in topics],
                live_brokers=brokers or (),
            )
        )

    def _unfolded(self) -> _Rows[UpdateMetadataPartitionState]:
        """What waits, as rows."""
        if self._rows is None:
            self._rows = _Rows()
            whole, self._whole = self._whole, None
            assert whole is not None, "it is asked only if something waits"
            assert isinstance(whole.request, UpdateMetadataRequest)
            self._merge(self._rows, whole.request)
        return self._rows

    def _merge(
        self, rows: _Rows[UpdateMetadataPartitionState], request: UpdateMetadataRequest
    ) -> None:
        for topic in request.topic_states:
            rows.forget_between(topic.topic_name, topic.topic_id)
            mine = rows.of_topic(topic.topic_name, topic.topic_id)
            mine.update((row.partition_index, row) for row in topic.partition_states)

"""Fetch sessions (KIP-227): a client names its partitions once, and then only what changes.

A session remembers which partitions its client wants and what it was told of each, so that a
request and a response name only what is new. Its epoch counts the requests: one that was lost, or
came twice, is found out, and the client begins anew. There is a bound on sessions; without room a
client fetches without one, which costs bytes and nothing else.

What a request costs follows what has changed: the session keeps a list of the partitions that are
to be looked at (`ready`). The others have nothing to read; their replicas wake them.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol

from odradek.broker.fetching.reader import Consumer, Follower, Reader
from odradek.broker.partitions.replicas.replica import Replica
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicId, TopicPartition
from odradek.model.positions import FIRST_INCARNATION, NO_OFFSET, Incarnation, Offset
from odradek.model.units import MINUTE, Millis
from odradek.ports import Random
from odradek.security.principal import Principal
from odradek.wire.messages.fetch import FetchPartition, FetchRequest

NO_SESSION: Final = 0
FINAL_EPOCH: Final = -1  # without a session; one that there was ends
FIRST_EPOCH: Final = 0  # a new session, if there is room
IDLE_MIN: Final = Millis(2 * MINUTE)  # then a session may be given up for another
EPOCH_MAX: Final = (1 << 31) - 1

Names = Mapping[TopicId, str]
"""Topics by their ids, as the cluster has them now."""


class SessionNotFound(BrokerError):
    """It was given up for another, or the broker was started again."""

    code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND


class WrongSessionEpoch(BrokerError):
    """A request of this session was lost, or came twice."""

    code = ErrorCode.INVALID_FETCH_SESSION_EPOCH


class MixedTopicNames(BrokerError):
    """A session names topics either by their names or by their ids, all its life."""

    code = ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


class Waiting(Protocol):
    """A request of a session that waits for more to read."""

    def wake(self) -> None:
        """A partition of the session has more."""
        ...

    def end(self) -> None:
        """It shall be answered now: the client asks again, or the session ends."""
        ...


class Slot:
    """One partition of a session: what the client wants, and what it was told last."""

    __slots__ = (
        "bytes_max",
        "incarnation",
        "is_forgotten",
        "last_fetched_epoch",
        "leader_epoch",
        "log_start_offset",
        "name",
        "number",
        "offset",
        "partition",
        "replica",
        "served_at",
        "session",
        "told_high_watermark",
        "told_log_start",
        "topic_id",
    )

    def __init__(self, session: "Session", name: str, topic_id: TopicId, number: int) -> None:
        self.session = session
        self.name = name  # empty: only the id is known
        self.partition = TopicPartition(name, number)  # what it is a slot for
        self.topic_id = topic_id
        self.number = number
        self.offset = Offset(0)
        self.served_at = NO_OFFSET  # from where it got records last
        self.bytes_max = 0
        self.leader_epoch = -1  # -1: it does not say
        self.last_fetched_epoch = -1
        self.log_start_offset = -1
        self.incarnation = FIRST_INCARNATION  # of a follower's log
        self.told_high_watermark = -1
        self.told_log_start = -1
        self.replica: Replica | None = None  # whose readers it is among
        self.is_forgotten = False  # its client wants it no more, or has another slot for it

    def rename(self, name: str) -> None:
        """The name of the topic with this id is known."""
        self.name = name
        self.partition = TopicPartition(name, self.number)

    def update(self, wanted: FetchPartition) -> None:
        """What a request says of it. A client that goes back has not taken what it was told.

        Nor has a follower whose log begins below that: it may have begun anew since, and not know.
        """
        before = self.last_fetched_epoch, self.offset
        is_back = (wanted.last_fetched_epoch, wanted.fetch_offset) < before
        if is_back or 0 <= wanted.log_start_offset < self.told_log_start:
            self.told(-1, -1)
        self.offset = Offset(wanted.fetch_offset)
        self.bytes_max = wanted.partition_max_bytes
        self.leader_epoch = wanted.current_leader_epoch
        self.last_fetched_epoch = wanted.last_fetched_epoch
        self.log_start_offset = wanted.log_start_offset
        self.incarnation = Incarnation(wanted.incarnation)

    @property
    def is_asked_again(self) -> bool:
        """Whether its client got records from there before: it may not have believed them."""
        return self.served_at == self.offset

    def is_news(self, high_watermark: int, log_start: int) -> bool:
        """Whether the client does not know this yet."""
        return high_watermark != self.told_high_watermark or log_start != self.told_log_start

    def told(self, high_watermark: int, log_start: int) -> None:
        """Now it does."""
        self.told_high_watermark, self.told_log_start = high_watermark, log_start

    def await_more(self, replica: Replica) -> None:
        """The replica wakes it when there is more."""
        if self.replica is not replica:
            self.leave()
            self.replica = replica
            if isinstance(self.session.reader, Follower):
                replica.readers.follow_offsets(self)
        if isinstance(self.session.reader, Follower):
            replica.readers.await_end(self)
        else:
            replica.readers.await_high_watermark(self)

    def leave(self) -> None:
        """Is not woken any more."""
        if self.replica is not None:
            self.replica.readers.leave(self)
            self.replica = None

    def forget(self) -> None:
        """A request that is under way passes it over from now on."""
        self.is_forgotten = True
        self.leave()

    def wake(self) -> None:
        """There is more to read."""
        self.session.ready[self] = None
        if self.session.waiting is not None:
            self.session.waiting.wake()

    def on_news(self) -> None:
        """The next answer names the offsets that have moved."""
        self.session.ready[self] = None


class Session:
    """One client's; without a number it lasts for one request."""

    __slots__ = (
        "_slots",
        "by_id",
        "early",
        "epoch",
        "id",
        "owner",
        "reader",
        "ready",
        "used_at",
        "waiting",
    )

    def __init__(
        self, number: int, owner: Principal, reader: Reader, now: Millis, *, by_id: bool = False
    ) -> None:
        self.id = number
        self.owner = owner  # for anybody else it is not there
        self.reader = reader
        self.by_id = by_id  # its requests name topics by their ids
        self.epoch = 1  # that of the next request
        self.used_at = now
        self.ready: dict[Slot, None] = {}  # to be looked at, those served last at the end
        self.early: dict[Slot, Millis] = {}  # not led here yet, and until when that is waited for
        self.waiting: Waiting | None = None
        self._slots: dict[tuple[str | TopicId, int], Slot] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def __iter__(self) -> Iterator[Slot]:
        return iter(self._slots.values())

    def update(self, request: FetchRequest, names: Names) -> Iterator[Slot]:
        """What changes: partitions that are added or fetched from elsewhere, and forgotten ones.

        Takes them over one by one, as its caller asks for them.
        """
        for topic in request.topics:
            topic_id = TopicId(topic.topic_id)
            for wanted in topic.partitions:
                slot = self._slot(topic.topic, topic_id, wanted.partition, names)
                slot.update(wanted)
                self.ready[slot] = None
                yield slot
        for forgotten in request.forgotten_topics_data:
            key = TopicId(forgotten.topic_id) if self.by_id else forgotten.topic
            for number in forgotten.partitions:
                gone = self._slots.pop((key, number), None)
                if gone is not None:
                    gone.forget()
                    self.ready.pop(gone, None)
                    self.early.pop(gone, None)

    def _slot(self, name: str, topic_id: TopicId, number: int, names: Names) -> Slot:
        key = (topic_id if self.by_id else name, number)
        slot = self._slots.get(key)
        if slot is None:
            if self.by_id:
                name = names.get(topic_id, "")
            slot = self._slots[key] = Slot(self, name, topic_id, number)
        return slot

    def find(self, partition: TopicPartition, topic_id: TopicId) -> Slot | None:
        """The slot of a partition, if its client wants it."""
        return self._slots.get((topic_id if self.by_id else partition.topic, partition.partition))

    def served(self, slot: Slot) -> None:
        """It had its share; the next time the others come first."""
        slot.served_at = slot.offset
        self.ready.pop(slot, None)
        self.ready[slot] = None

    def look_again(self, slots: Iterable[Slot]) -> None:
        """They were looked at, and the client was not told: they are ready again."""
        for slot in slots:
            if not slot.is_forgotten:
                self.ready[slot] = None

    def look_at_all(self) -> None:
        """Something has changed that may concern every partition."""
        for slot in self:
            self.ready[slot] = None

    def close(self) -> None:
        """Nothing of it is woken any more; slots and session do not hold each other, either."""
        if self.waiting is not None:
            self.waiting.end()
        for slot in self:
            slot.forget()
        for slots in (self._slots, self.ready, self.early):
            slots.clear()

    def closing(self) -> Steps[None]:
        """Forgets its partitions, with pauses."""
        slots = self._slots
        while slots:
            slot = slots.popitem()[1]
            slot.forget()
            self.ready.pop(slot, None)
            self.early.pop(slot, None)
            if not len(slots) % ROWS_IN_A_SLICE:
                yield


class FetchSessions:
    """All sessions of a broker, those that were used last at the end."""

    def __init__(self, random: Random, sessions_max: int) -> None:
        self._random = random
        self._sessions_max = sessions_max
        self._sessions: OrderedDict[int, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def __iter__(self) -> Iterator[Session]:
        return iter(self._sessions.values())

    def partitions(self) -> int:
        """How many partitions they have together."""
        return sum(map(len, self._sessions.values()))

    def find(
        self,
        request: FetchRequest,
        owner: Principal,
        reader: Reader,
        now: Millis,
        *,
        by_id: bool = False,
    ) -> Session:
        """The session of a request; one without a number if there is no room, or no wish."""
        session = self._sessions.get(request.session_id)
        if session is not None and session.owner != owner:
            session = None
        if request.session_epoch in {FINAL_EPOCH, FIRST_EPOCH}:
            if session is not None:
                self.end(session.id)
            if request.session_epoch == FINAL_EPOCH or not request.topics:
                return Session(NO_SESSION, owner, reader, now, by_id=by_id)
            return self._begin(owner, reader, now, by_id=by_id)
        if session is None:
            raise SessionNotFound(f"there is no fetch session {request.session_id}")
        if request.session_epoch != session.epoch:
            raise WrongSessionEpoch(
                f"epoch {request.session_epoch} of fetch session {session.id}, "
                f"where {session.epoch} was to come"
            )
        if session.by_id != by_id:
            raise MixedTopicNames(f"fetch session {session.id} changes how it names topics")
        session.epoch = session.epoch + 1 if session.epoch < EPOCH_MAX else 1
        session.used_at = now
        if session.reader != reader:  # a follower whose broker has registered anew
            session.reader = reader
            session.look_at_all()
        self._sessions.move_to_end(session.id)
        return session

    def _begin(self, owner: Principal, reader: Reader, now: Millis, *, by_id: bool) -> Session:
        if len(self._sessions) >= self._sessions_max and not self._make_room(reader, now):
            return Session(NO_SESSION, owner, reader, now, by_id=by_id)
        session = Session(self._free_id(), owner, reader, now, by_id=by_id)
        self._sessions[session.id] = session
        return session

    def end(self, number: int) -> None:
        """There is none of this number from now on."""
        session = self._sessions.pop(number, None)
        if session is not None:
            session.close()

    def _make_room(self, reader: Reader, now: Millis) -> bool:
        """The one that was idle for long; for a follower, that of any consumer."""
        oldest = next(iter(self._sessions.values()), None)
        if oldest is not None and now - oldest.used_at >= IDLE_MIN:
            self.end(oldest.id)
            return True
        if isinstance(reader, Follower):
            for session in self._sessions.values():
                if isinstance(session.reader, Consumer):
                    self.end(session.id)
                    return True
        return False

    def _free_id(self) -> int:
        while True:
            number = 1 + self._random.below(EPOCH_MAX)
            if number not in self._sessions:
                return number


def named_in(request: FetchRequest) -> Iterable[tuple[str, TopicId, int]]:
    """The partitions that a request names: topic, topic id and number."""
    for topic in request.topics:
        for wanted in topic.partitions:
            yield topic.topic, TopicId(topic.topic_id), wanted.partition

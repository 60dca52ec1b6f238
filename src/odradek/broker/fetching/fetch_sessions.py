"""Fetch sessions (KIP-227): a client names its partitions once, and then only what changes.

A session remembers which partitions its client wants and what it was told of each, so that a
request and a response name only what is new. Its epoch counts the requests: one that was lost, or
came twice, is found out, and the client begins anew. There is a bound on sessions; who finds no
room fetches without one, which costs bytes and nothing else.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import MINUTE, Millis
from odradek.ports import Random
from odradek.wire.messages.fetch import FetchPartition, FetchRequest

NO_SESSION: Final = 0
FINAL_EPOCH: Final = -1  # without a session; one that there was ends
FIRST_EPOCH: Final = 0  # a new session, if there is room
IDLE_MIN: Final = Millis(2 * MINUTE)  # then a session may be given up for another
EPOCH_MAX: Final = (1 << 31) - 1


class SessionNotFound(BrokerError):
    """It was given up for another, or the broker was started again."""

    code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND


class WrongSessionEpoch(BrokerError):
    """A request of this session was lost, or came twice."""

    code = ErrorCode.INVALID_FETCH_SESSION_EPOCH


class Wanted(NamedTuple):
    """What a client wants of one partition."""

    partition: TopicPartition
    offset: Offset
    bytes_max: int
    leader_epoch: int  # -1: it does not say


class Told(NamedTuple):
    """What a client was told last of one partition."""

    high_watermark: int
    log_start_offset: int


NOT_TOLD: Final = Told(-1, -1)


class Session:
    """One client's."""

    __slots__ = ("epoch", "id", "told", "used_at", "wanted")

    def __init__(self, number: int, now: Millis) -> None:
        self.id = number
        self.epoch = 1  # that of the next request
        self.used_at = now
        self.wanted: OrderedDict[TopicPartition, Wanted] = OrderedDict()
        self.told: dict[TopicPartition, Told] = {}

    def update(self, request: FetchRequest) -> None:
        """What changes: partitions that are added or fetched from elsewhere, and forgotten ones."""
        for wanted in wanted_by(request):
            self.wanted[wanted.partition] = wanted
        for topic in request.forgotten_topics_data:
            for number in topic.partitions:
                gone = TopicPartition(topic.topic, number)
                self.wanted.pop(gone, None)
                self.told.pop(gone, None)

    def is_news(self, partition: TopicPartition, told: Told) -> bool:
        """Whether the client does not know this yet; from now on it does."""
        if self.told.get(partition, NOT_TOLD) == told:
            return False
        self.told[partition] = told
        return True

    def served(self, partition: TopicPartition) -> None:
        """It had its share; the next time the others come first."""
        self.wanted.move_to_end(partition)


class FetchSessions:
    """All sessions of a broker, those that were used last at the end."""

    def __init__(self, random: Random, sessions_max: int) -> None:
        self._random = random
        self._sessions_max = sessions_max
        self._sessions: OrderedDict[int, Session] = OrderedDict()

    def __len__(self) -> int:
        return len(self._sessions)

    def partitions(self) -> int:
        """How many partitions they have together."""
        return sum(len(session.wanted) for session in self._sessions.values())

    def find(self, request: FetchRequest, now: Millis) -> Session | None:
        """The session of a request, brought up to date; None: the request speaks for itself."""
        if request.session_epoch == FINAL_EPOCH:
            self._sessions.pop(request.session_id, None)
            return None
        if request.session_epoch == FIRST_EPOCH:
            self._sessions.pop(request.session_id, None)
            return self._begin(request, now)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise SessionNotFound(f"there is no fetch session {request.session_id}")
        if request.session_epoch != session.epoch:
            raise WrongSessionEpoch(
                f"epoch {request.session_epoch} of fetch session {session.id}, "
                f"where {session.epoch} was to come"
            )
        session.epoch = session.epoch + 1 if session.epoch < EPOCH_MAX else 1
        session.used_at = now
        self._sessions.move_to_end(session.id)
        session.update(request)
        return session

    def _begin(self, request: FetchRequest, now: Millis) -> Session | None:
        if len(self._sessions) >= self._sessions_max and not self._make_room(now):
            return None
        session = Session(self._free_id(), now)
        session.update(request)
        if not session.wanted:
            return None
        self._sessions[session.id] = session
        return session

    def _make_room(self, now: Millis) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now - oldest.used_at < IDLE_MIN:
            return False
        del self._sessions[oldest.id]
        return True

    def _free_id(self) -> int:
        while True:
            number = 1 + self._random.below(EPOCH_MAX)
            if number not in self._sessions:
                return number


def wanted_by(request: FetchRequest) -> Iterator[Wanted]:
    """The partitions that a request names."""
    for topic in request.topics:
        name = topic.topic
        partitions: Iterable[FetchPartition] = topic.partitions
        for each in partitions:
            yield Wanted(
                TopicPartition(name, each.partition),
                Offset(each.fetch_offset),
                each.partition_max_bytes,
                each.current_leader_epoch,
            )

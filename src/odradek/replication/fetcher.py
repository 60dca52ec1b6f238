"""What a broker asks one leader broker for, over all partitions that it follows there.

One request is on its way at a time: a question about epochs or offsets, else a fetch that names
what has changed since the last one. A partition whose log is being changed, that backs off or has
failed is left out, and delays no other. The one exception: partitions that are added, or come back,
while a fetch waits at the leader are named in a second one at once, so that they do not wait for an
old long poll.

An answer counts for a partition only if the request named it as it is now: by serial number of the
request, so that neither a late answer of an earlier leadership nor a repeated one is applied.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from heapq import heappop, heappush
from itertools import islice
from typing import Final, NamedTuple

from odradek.model.errors import ErrorCode
from odradek.model.ids import NO_TOPIC_ID, BrokerId, TopicPartition
from odradek.model.positions import NO_OFFSET, BrokerEpoch
from odradek.model.units import Bytes, Millis
from odradek.replication import fetcher_requests as requests
from odradek.replication.fetcher_requests import TOPIC_IDS_FROM, FetcherSettings, Sender
from odradek.replication.follower_session import FULL, FollowerSession, SessionTurn
from odradek.replication.following import (
    Applying,
    AskingEarliest,
    AskingEpochEnd,
    AskingLatest,
    Failed,
    FetchPosition,
    Follower,
    FollowerEffects,
    State,
)
from odradek.replication.throttle import ReplicationThrottle
from odradek.wire.messages.fetch import FetchRequest, FetchResponse, PartitionData
from odradek.wire.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)

Request = FetchRequest | OffsetForLeaderEpochRequest | ListOffsetsRequest
Response = FetchResponse | OffsetForLeaderEpochResponse | ListOffsetsResponse


SESSION_ERRORS: Final = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
"""After these a full request helps at once; after any other error it comes after a pause."""


class Pause(NamedTuple):
    """Nothing to send before this moment; None: before something else happens."""

    until: Millis | None


REST: Final = Pause(None)


class Step(NamedTuple):
    """What an answer means for one partition."""

    follower: Follower
    effects: FollowerEffects


ASKING: Final = frozenset({AskingEpochEnd, AskingLatest, AskingEarliest})


class _Slot:
    """One partition, and what the leader's session holds of it."""

    __slots__ = ("busy_since", "follower", "is_delayed", "is_slow", "sent", "sent_in")

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.is_delayed = False  # until its moment in the heap of delayed ones
        self.busy_since = Millis(0)  # that its log is being changed
        self.is_slow = False  # the last change of its log took longer than others wait
        self.sent: FetchPosition | None = None
        self.sent_in = 0  # the first request that asked from where `sent` does; 0: none ever did

    @property
    def wanted(self) -> FetchPosition | None:
        """What the session shall hold of it."""
        return None if self.is_delayed else self.follower.position

    @property
    def has_changed(self) -> bool:
        """Whether the session holds something else of it."""
        if self.sent is None or self.is_delayed:
            return self.wanted != self.sent
        return not self.follower.is_at(self.sent)

    @property
    def is_where_it_asked(self) -> bool:
        """Whether an answer to `sent` is still of use: retention may have moved the log's start."""
        sent = self.sent
        if sent is None or self.is_delayed:
            return False
        if self.follower.is_at(sent):
            return True
        wanted = self.wanted
        return wanted is not None and self.asks_alike(wanted)

    def asks_alike(self, wanted: FetchPosition) -> bool:
        """Whether `sent` asks for the same, wherever this log begins.

        An answer to it counts, though it was overtaken by one that says where the log begins: the
        leader says but once where its own begins.
        """
        sent = self.sent
        return (
            sent is not None and sent._replace(log_start_offset=wanted.log_start_offset) == wanted
        )


class _InFlight(NamedTuple):
    """A request that waits for its answer."""

    serial: int
    turn: SessionTurn | None = None  # of a fetch
    asked: dict[TopicPartition, tuple[_Slot, State]] | None = (
        None  # of a question; each one's state
    )
    is_brief: bool = False  # a fetch that does not wait for records: more is to be named


class ReplicaFetcher:
    """All that one broker fetches from another."""

    def __init__(
        self,
        me: BrokerId,
        broker_epoch: BrokerEpoch,
        settings: FetcherSettings,
        throttle: ReplicationThrottle,
    ) -> None:
        self.broker_epoch = broker_epoch
        """Of this broker's registration, which every fetch names."""
        self._sender = Sender(me, broker_epoch)
        self._throttle = throttle
        self._me = me
        self._settings = settings
        by_name = min(settings.fetch_version, TOPIC_IDS_FROM - 1)
        self._by_name = settings._replace(fetch_version=by_name)
        self._session = FollowerSession()
        self._slots: dict[TopicPartition, _Slot] = {}  # in the order of a full request
        self._by_id: dict[tuple[bytes, int], _Slot] = {}
        self._without_id = 0
        self._changed: dict[TopicPartition, _Slot] = {}  # the session holds something else of them
        self._asking: dict[TopicPartition, _Slot] = {}
        self.busy: dict[TopicPartition, _Slot] = {}
        """Whose logs are being changed."""
        self._awaited: dict[TopicPartition, _Slot] = {}  # those that the next fetch waits for
        self._forgotten: list[Follower] = []  # removed, but the session still holds them
        self._held = 0  # so many the session holds, besides those
        self._delayed: list[tuple[Millis, int, _Slot]] = []
        self._in_flight: deque[_InFlight] = deque()
        self._serial = 0
        self._failures = 0  # of requests, in a row
        self.retry_at: Millis | None = None
        """Until then nothing is asked: the last request has failed."""
        self._patient_until = Millis(0)

    def __len__(self) -> int:
        """How many partitions it follows."""
        return len(self._slots)

    def followers(self) -> Iterable[Follower]:
        """All of them."""
        return (slot.follower for slot in self._slots.values())

    def on_registered(self, broker_epoch: BrokerEpoch) -> None:
        """It has registered again: the leader must hear of every partition in its new life."""
        if broker_epoch != self.broker_epoch:
            self.broker_epoch = broker_epoch
            self._sender = Sender(self._me, broker_epoch)
            self._close_session()

    @property
    def fetch_version(self) -> int:
        """The version of the next fetch: topics without an id are named by their names."""
        settings = self._by_name if self._without_id else self._settings
        return settings.fetch_version

    # Partitions come and go

    def add(self, follower: Follower, now: Millis) -> FollowerEffects:
        """Follows one more partition, or an old one under another leader epoch."""
        self.remove(follower.partition)
        slot = self._slots[follower.partition] = _Slot(follower)
        if follower.topic_id == NO_TOPIC_ID:
            self._without_id += 1
            if self._without_id == 1:
                self._close_session()
        else:
            self._by_id[follower.topic_id, follower.partition.partition] = slot
        effects = follower.begin()
        self._look_at(slot, now)
        return effects

    def remove(self, partition: TopicPartition) -> None:
        """Follows it no longer; an answer that is on its way is not applied."""
        slot = self._slots.pop(partition, None)
        if slot is None:
            return
        for table in (self._changed, self._asking, self.busy, self._awaited):
            table.pop(partition, None)
        if slot.sent is not None:
            self._held -= 1
            self._forgotten.append(slot.follower)
        if slot.follower.topic_id == NO_TOPIC_ID:
            self._without_id -= 1
            if not self._without_id:
                self._close_session()
        else:
            self._by_id.pop((slot.follower.topic_id, partition.partition))

    # What the shell tells of one partition

    def on_applied(self, partition: TopicPartition, now: Millis) -> FollowerEffects:
        """Its log has been changed as the effects said."""
        slot = self._slots[partition]
        effects = slot.follower.on_applied()
        self._look_at(slot, now)
        return effects

    def on_apply_failed(self, partition: TopicPartition, error: ErrorCode, now: Millis) -> None:
        """Its log could not be changed, and is as it was before."""
        slot = self._slots[partition]
        slot.follower.on_apply_failed(error, now)
        self._look_at(slot, now)

    def has_given_up(self, partition: TopicPartition) -> bool:
        """Whether it fetches no more as long as it is the same follower."""
        return isinstance(self._slots[partition].follower.state, Failed)

    def on_log_start(self, partition: TopicPartition, now: Millis) -> None:
        """Its log starts elsewhere, by retention or DeleteRecords: the leader is told."""
        self._look_at(self._slots[partition], now)

    # Requests

    def next_request(self, now: Millis) -> Request | Pause:
        """What to send now; asked again after each answer, `on_applied`, `add` and pause."""
        if self._delayed:
            self._wake(now)
        if self._in_flight and not self._may_overtake():
            return self._rest()
        if self.retry_at is not None and now < self.retry_at:
            return Pause(self.retry_at)
        if self._awaited and now < self._patient_until:
            return Pause(self._patient_until)
        self._awaited.clear()
        question = None if self._in_flight else self._question()
        return question or self._fetch() or self._rest()

    def _rest(self) -> Pause:
        """Until the first pause of a partition is over."""
        return Pause(self._delayed[0][0]) if self._delayed else REST

    def on_response(self, response: Response, now: Millis) -> list[Step]:
        """The answer to the oldest request on its way: what it means for each partition."""
        asked = self._in_flight.popleft()
        if not asked.is_brief:
            self._patient_until = Millis(now + self._settings.patience)
        if isinstance(response, FetchResponse) and response.error_code:
            self._on_session_error(requests.error_of(response.error_code), now)
            return []
        self._failures, self.retry_at = 0, None
        match response:
            case FetchResponse():
                steps = self._on_fetched(response, asked, now)
            case OffsetForLeaderEpochResponse():
                steps = self._on_told(
                    (
                        (partition, partial(Follower.on_epoch_end, error=error, end=end, now=now))
                        for partition, error, end in requests.epoch_ends_told(response)
                    ),
                    asked,
                    now,
                )
            case ListOffsetsResponse():
                steps = self._on_told(
                    (
                        (partition, partial(Follower.on_offset, error=error, offset=at, now=now))
                        for partition, error, at in requests.offsets_told(response)
                    ),
                    asked,
                    now,
                )
        return steps

    def on_no_response(self, now: Millis) -> None:
        """The connection broke, or an answer took too long: all requests on their way are lost."""
        self._in_flight.clear()
        self._close_session()
        self._back_off(now)

    # Fetching

    def _may_overtake(self) -> bool:
        """Whether a second fetch may go while one waits at the leader, for what that does not say.

        That is a partition, or where a log begins: a deletion may be waiting to hear it.
        """
        if not self._changed:
            return False
        first = self._in_flight[0]
        if len(self._in_flight) > 1 or first.turn is None or first.is_brief:
            return False
        return self._session.is_open and any(
            slot.sent is None or slot.sent.log_start_offset < wanted.log_start_offset
            for slot in self._changed.values()
            if (wanted := slot.wanted) is not None
        )

    def _fetch(self) -> FetchRequest | None:
        """Names as much as may be named at once; the leader answers at once while more is left."""
        if not self._session.is_open:
            self._changed = dict(self._slots)
            self._forgotten.clear()
        count, named, gone = self._to_name()
        if not named and self._held == len(gone):
            return None  # nothing would be waited for; the next fetch names what to forget
        if count == len(self._changed):
            self._changed = {}
        else:
            self._changed = dict(islice(self._changed.items(), count, None))
        self._serial += 1
        turn = self._session.next_turn()
        forgotten = [*self._forgotten, *(slot.follower for slot in gone)]
        self._forgotten = []
        if forgotten:
            again = {(slot.follower.topic_id, slot.follower.partition) for slot, _ in named}
            forgotten = [it for it in forgotten if (it.topic_id, it.partition) not in again]
        for slot, wanted in named:
            self._held += slot.sent is None
            if not slot.asks_alike(wanted):
                slot.sent_in = self._serial
            slot.sent = wanted
        for slot in gone:
            self._held -= 1
            slot.sent, slot.sent_in = None, self._serial
        is_brief = bool(self._changed)
        self._in_flight.append(_InFlight(self._serial, turn, is_brief=is_brief))
        return requests.fetch(
            self._sender,
            turn,
            named=[(slot.follower, wanted, self._bytes_max(slot)) for slot, wanted in named],
            forgotten=forgotten,
            wait=Millis(0) if is_brief or self._opens_session(turn) else self._settings.wait_max,
            settings=self._by_name if self._without_id else self._settings,
        )

    def _bytes_max(self, slot: _Slot) -> Bytes:
        """Within a throttle one second's worth, so that it never rests for long.

        The leader sends one batch at least. Before its first answer a replica may be far behind.
        """
        follower, rate = slot.follower, self._throttle.rate
        bytes_max = self._settings.partition_bytes_max
        if rate is None or not self._throttle.applies_to(follower.partition):
            return bytes_max
        may_lag = follower.lag or follower.leader_high_watermark == NO_OFFSET
        return Bytes(min(bytes_max, max(rate, 1))) if may_lag else bytes_max

    def _opens_session(self, turn: SessionTurn) -> bool:
        """It is answered at once: until then no other request can overtake."""
        return turn.epoch == FULL and self._session.has_room

    def _to_name(self) -> tuple[int, list[tuple[_Slot, FetchPosition]], list[_Slot]]:
        """How many of the changed ones come next; those to name; those to forget.

        Without a session every fetch is the only one, and names everything.
        """
        named: list[tuple[_Slot, FetchPosition]] = []
        gone: list[_Slot] = []
        count = 0
        names_max = self._settings.partitions_max if self._session.has_room else len(self._slots)
        for slot in self._changed.values():
            if len(named) == names_max:
                break
            count += 1
            wanted = slot.wanted
            if wanted is not None:
                named.append((slot, wanted))
            elif slot.sent is not None:
                gone.append(slot)
        return count, named, gone

    def _on_fetched(self, response: FetchResponse, asked: _InFlight, now: Millis) -> list[Step]:
        assert asked.turn is not None, asked
        if not self._session.belongs(asked.turn):
            return []
        self._session.on_answer(asked.turn, response.session_id)
        steps, copied = [], 0
        for slot, data in self._told(response):
            if slot is None:
                continue
            if slot.sent_in > asked.serial or not slot.is_where_it_asked:
                self._look_at(slot, now)  # or the leader would send the same for ever
                continue
            effects = slot.follower.on_fetched(requests.fetched(data), now)
            if effects.append is not None:  # others come first in the next full request
                self._slots[slot.follower.partition] = self._slots.pop(slot.follower.partition)
                if self._throttle.rate is not None and self._is_throttled(slot.follower):
                    copied += len(effects.append)
            self._look_at(slot, now)
            steps.append(Step(slot.follower, effects))
        if copied:
            self._hold_back(copied, now)
        if not self._session.is_open:
            self._close_session()
        return steps

    def _is_throttled(self, follower: Follower) -> bool:
        return bool(follower.lag) and self._throttle.applies_to(follower.partition)

    def _hold_back(self, copied: int, now: Millis) -> None:
        """Above the rate all replicas that it holds for wait, not only those that had records."""
        self._throttle.note(copied, now)
        if self._throttle.free_at(now) is not None:
            for slot in self._slots.values():
                if self._is_throttled(slot.follower):
                    self._look_at(slot, now)

    def _on_session_error(self, error: ErrorCode, now: Millis) -> None:
        self._session.on_error(error)
        self._close_session()
        if error not in SESSION_ERRORS:
            self._back_off(now)

    def _told(self, response: FetchResponse) -> Iterator[tuple[_Slot | None, PartitionData]]:
        for topic in response.responses:
            for data in topic.partitions:
                slot = self._by_id.get((topic.topic_id, data.partition_index))
                if slot is None:
                    slot = self._slots.get(TopicPartition(topic.topic, data.partition_index))
                yield slot, data

    def _close_session(self) -> None:
        """The next fetch names everything."""
        self._session.close()
        self._held = 0
        for slot in self._slots.values():
            slot.sent = None

    # Questions

    def _question(self) -> Request | None:
        if not self._asking:
            return None
        epochs, offsets = [], []
        for slot in self._asking.values():
            state = slot.follower.state
            if isinstance(state, AskingEpochEnd):
                epochs.append((slot, state))
            else:
                offsets.append((slot, state))
        self._serial += 1
        asked = epochs or offsets
        by_name = {slot.follower.partition: (slot, state) for slot, state in asked}
        self._in_flight.append(_InFlight(self._serial, None, by_name))
        if epochs:
            return requests.epoch_ends(self._sender, [(it.follower, state) for it, state in epochs])
        return requests.offsets(self._sender, [(it.follower, state) for it, state in offsets])

    def _on_told(
        self,
        told: Iterable[tuple[TopicPartition, Callable[[Follower], FollowerEffects]]],
        asked: _InFlight,
        now: Millis,
    ) -> list[Step]:
        """Each answer for a partition that still asks what it asked then."""
        steps = []
        left = dict(asked.asked or {})
        for partition, tell in told:
            slot, state = left.pop(partition, (None, None))
            if slot is None or self._slots.get(partition) is not slot:
                continue
            if slot.follower.state is not state:
                continue
            steps.append(Step(slot.follower, tell(slot.follower)))
            self._look_at(slot, now)
        for partition, (slot, state) in left.items():
            if self._slots.get(partition) is slot and slot.follower.state is state:
                slot.follower.on_unanswered(now)
                self._look_at(slot, now)
        return steps

    # Which partitions wait for what

    def _look_at(self, slot: _Slot, now: Millis) -> None:
        """Something happened to a partition: puts it where it belongs."""
        follower = slot.follower
        retry_at, state = follower.retry_at, follower.state
        if self._throttle.rate is not None and retry_at is None and self._is_throttled(follower):
            retry_at = self._throttle.free_at(now)
        slot.is_delayed = retry_at is not None and retry_at > now
        if slot.is_delayed and retry_at is not None:
            self._serial += 1
            heappush(self._delayed, (retry_at, self._serial, slot))
        partition, kind = follower.partition, type(state)
        if kind is Applying:
            self._is_busy(slot, now)
        elif self.busy and partition in self.busy:
            del self.busy[partition]
            self._awaited.pop(partition, None)
            slot.is_slow = now - slot.busy_since >= self._settings.patience
        if kind in ASKING and not slot.is_delayed:
            self._asking[partition] = slot
        elif self._asking:
            self._asking.pop(partition, None)
        if slot.has_changed:
            self._changed[partition] = slot
        elif self._changed:
            self._changed.pop(partition, None)

    def _is_busy(self, slot: _Slot, now: Millis) -> None:
        """The next fetch waits for it, so that it names all; but only once, and for no slow one.

        Its disk may hang for a minute, and the records of the other disks are waited for.
        """
        partition = slot.follower.partition
        if partition in self.busy:
            return
        self.busy[partition] = slot
        slot.busy_since = now
        if not slot.is_slow:
            self._awaited[partition] = slot

    def _wake(self, now: Millis) -> None:
        """Those whose pause is over."""
        while self._delayed and self._delayed[0][0] <= now:
            _, _, slot = heappop(self._delayed)
            if self._slots.get(slot.follower.partition) is slot:
                self._look_at(slot, now)

    def _back_off(self, now: Millis) -> None:
        settings = self._settings
        pause = min(settings.backoff_min << min(self._failures, 16), settings.backoff_max)
        self._failures += 1
        self.retry_at = Millis(now + pause)

"""The shell of a coordinator: its partitions of an internal topic, and requests without an answer.

It carries out the core's decisions in their order: records are appended to the log of their
partition, answers are sent to the requests that wait for them. An event that arrives meanwhile (an
append that is refused at once, for instance) is handled afterwards. The core is told of elections,
of appends, of the high watermark, and of time.

At the moment of each answer the broker's lease is looked at. A broker that stood still for longer
than its session, and those who ask it, hear last that others were elected: until it knows, all are
told to look for their coordinator.

A partition is loaded from its log when this broker becomes its leader: one partition after the
other, and a small piece in each turn of the loop, so that other work continues.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

import structlog

from odradek.broker.coordinators.load_times import LoadTimes
from odradek.broker.jobs import begin
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.timers import Timer, Timers
from odradek.coordinator.batches import Decoder, Encoder, load_in_turns, to_batches
from odradek.coordinator.coordinator import Coordinator, Place
from odradek.coordinator.decision import (
    Append,
    Call,
    Caller,
    CoordinatorEffects,
    Decision,
    Moment,
    Ticket,
)
from odradek.coordinator.errors import NotCoordinator
from odradek.coordinator.shard import Machine, Shard
from odradek.model.errors import BatchTooLarge, BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.positions import Offset
from odradek.model.units import KIB, SECOND, Bytes, Micros, Millis
from odradek.ports import Clock
from odradek.records.compression import Codec
from odradek.records.control import TransactionEnd

PARTS_MAX: Final = 128
"""Of a request about many groups, how many are begun in one turn of the loop."""
READ_BYTES: Final = Bytes(64 * KIB)
"""Of a log that is loaded, how much is read at once: each read waits behind what a disk has to do,
and is checked by its thread, which the loop waits for, too: a millisecond or two.
"""
LOADED_BYTES: Final = Bytes(8 * KIB)
"""Of it, how much is believed in one turn at least: under half a millisecond. A record that is sent
to a leader waits for five of its turns, until all replicas have it.
"""
LOADING_MICROS_MAX: Final = Micros(2_000)
"""And for how long at most, where the turns of others are as long."""
TOLD_AFTER: Final = 2
"""After so many attempts to read a log it counts as unreadable."""
LOAD_AGAIN: Final = Millis(SECOND)
"""After so long a log that could not be read is read again, unless another broker leads by then."""

NO_CLIENT: Final = Caller("", "")

M = TypeVar("M", bound=Machine)
log = structlog.get_logger()


class RecordTopic(NamedTuple):
    """How a coordinator stores its records in its topic."""

    topic: str
    encode: Encoder
    decode: Decoder
    codec: Callable[[], Codec]
    batch_bytes_max: Callable[[], Bytes]  # of the topic as it is now


class CoordinatorDeps(NamedTuple):
    """What a coordinator uses of its broker."""

    clock: Clock
    timers: Timers
    tasks: asyncio.TaskGroup
    replicas: ReplicaManager
    may_answer: Callable[[], bool]  # no other broker can have been elected in place of this one


class Sender(Protocol):
    """Takes to brokers what a coordinator sends, until they have it."""

    def send(self, place: Place, sent: Any) -> None:
        """Begins; what the brokers say comes back by `CoordinatorShell.on_event`."""
        ...

    def stop(self, partition: int) -> None:
        """What was sent for this partition is of a leadership that is over."""
        ...


class SendsNothing:
    """Of a coordinator that sends nothing."""

    def send(self, place: Place, sent: Any) -> None:
        """Not from here."""
        raise AssertionError(place, sent)

    def stop(self, partition: int) -> None:
        """Nothing is under way."""


class PendingCall:
    """A request, whole or in parts, and the answers to its parts so far."""

    __slots__ = (
        "answered",
        "answers",
        "caller",
        "missing",
        "parts",
        "pending",
        "tickets",
        "version",
    )

    def __init__(
        self,
        pending: PendingRequest | None,
        parts: Sequence[tuple[str, Any]],
        answered: Callable[[list[Any]], None],
    ) -> None:
        self.pending = pending  # None: this broker asks itself
        self.version = 0 if pending is None else pending.version
        self.caller = (
            NO_CLIENT
            if pending is None
            else Caller(pending.client_id, f"/{pending.connection.peer[0]}")
        )
        self.parts = parts
        self.answered = answered
        self.answers: list[Any] = [None] * len(parts)
        self.missing = len(parts)
        self.tickets: list[Ticket] = []  # of the parts that were begun

    @property
    def is_over(self) -> bool:
        """Whether the answer is waited for no more."""
        return self.pending is not None and self.pending.connection.is_over


class Writing:
    """The batches of one append: all of them are written, or the append has failed."""

    __slots__ = ("base_offset", "error", "missing", "number")

    def __init__(self, number: int, batches: int) -> None:
        self.number = number
        self.missing = batches
        self.base_offset: Offset | None = None  # of the first one that was written
        self.error: BrokerError | None = None  # the first there was


class LoadedPartition(NamedTuple):
    """One leadership of one partition."""

    place: Place
    led: LeadingReplica
    shard: Shard
    writings: deque[Writing]  # not reported yet, in the order of the log


class LoadingTurns:
    """How much of the loop loading has: as much as all others together, who wait for it.

    Where each turn of others is long, because many clients have much to ask, a small part in each
    would take seconds in all.
    """

    __slots__ = ("_began", "_clock", "_others")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._others = Micros(0)  # how long their last turn was
        self._began = clock.micros()

    async def give_way(self) -> None:
        """Lets others work, unless they have just worked for longer."""
        now = self._clock.micros()
        if now - self._began >= min(self._others, LOADING_MICROS_MAX):
            await asyncio.sleep(0)
            self._began = self._clock.micros()
            self._others = Micros(self._began - now)


class CoordinatorShell(Generic[M]):
    """Runs a coordinator in a broker."""

    def __init__(
        self,
        core: Coordinator[M],
        record_topic: RecordTopic,
        deps: CoordinatorDeps,
        sender: Sender | None = None,
    ) -> None:
        self.load_times = LoadTimes()
        self.may_answer = deps.may_answer
        self._core = core
        self._record_topic = record_topic
        self._deps = deps
        self._sender: Sender = sender or SendsNothing()
        self._loaded: dict[int, LoadedPartition] = {}
        self._given_up: list[LoadedPartition] = []  # their logs are read anew, once they rest
        self._is_closed = False
        self._waiting: dict[Ticket, tuple[PendingCall, int]] = {}  # with the number of the part
        self._ending: dict[Ticket, Callable[[ErrorCode], None]] = {}  # transactions, as they end
        self._tickets = count(1)
        self._effects: deque[tuple[Place | None, CoordinatorEffects]] = deque()
        self._is_busy = False  # effects are being carried out
        self._turns = asyncio.Lock()  # one partition is loaded at a time
        self._timer: Timer | None = None
        self._timer_at = Millis(0)

    # -- requests ------------------------------------------------------------------------------

    def ask(
        self,
        pending: PendingRequest,
        parts: Sequence[tuple[str, Any]],
        answered: Callable[[list[Any]], None],
    ) -> None:
        """Asks the partition of each part; calls `answered` with the answers, in the parts' order.

        It is not called if the client disconnects; what was asked for may still take effect.
        """
        if not parts:
            answered([])
            return
        call = PendingCall(pending, parts, answered)
        pending.wait(partial(self._forget, call))
        self._begin(call, 0)

    def ask_own(
        self, parts: Sequence[tuple[str, Any]], answered: Callable[[list[Any]], None]
    ) -> None:
        """Likewise, where this broker is the one that asks."""
        if not parts:
            answered([])
            return
        self._begin(PendingCall(None, parts, answered), 0)

    def _begin(self, call: PendingCall, first: int) -> None:
        now, end = self._now(), first + PARTS_MAX
        for number, (subject, request) in enumerate(call.parts[first:end], first):
            ticket = Ticket(next(self._tickets))
            self._waiting[ticket] = call, number
            call.tickets.append(ticket)
            part = Call(ticket, request, call.version, call.caller)
            self._carry_out(*self._core.on_call(subject, part, now))
        if end < len(call.parts) and not call.is_over:
            asyncio.get_running_loop().call_soon(self._begin, call, end)

    def end(self, partition: int, end: TransactionEnd, ended: Callable[[ErrorCode], None]) -> None:
        """Writes the end of a transaction to a partition of the topic.

        `ended` is called once the records of the transaction are believed, or forgotten.
        """
        ticket = Ticket(next(self._tickets))
        self._ending[ticket] = ended
        call = Call(ticket, end, end.version, NO_CLIENT)
        self._carry_out(*self._core.on_end(partition, call, self._now()))

    def _forget(self, call: PendingCall) -> None:
        for ticket in call.tickets:
            self._waiting.pop(ticket, None)

    def everywhere(self, decide: Callable[[M, Moment], Iterable[Decision]]) -> None:
        """Handles an event that concerns every partition."""
        for place, effects in tuple(self._core.carry_out(decide, self._now())):
            self._carry_out(place, effects)

    def on_event(self, place: Place, decide: Callable[[M, Moment], Iterable[Decision]]) -> None:
        """Handles an event that concerns one leadership; if that is over, nothing follows."""
        self._carry_out(place, self._core.on_event(place, decide, self._now()))

    def partition_of(self, subject: str) -> TopicPartition | None:
        """Where a group or a transactional id belongs; None as long as there is no topic."""
        partition = self._core.partition_of(subject)
        return None if partition is None else TopicPartition(self._record_topic.topic, partition)

    @property
    def is_loading(self) -> bool:
        """Whether some partitions that this broker leads are not known yet."""
        return self._core.loading

    def unreadable(self) -> Iterator[tuple[TopicPartition, str]]:
        """Partitions that this broker leads and whose logs it cannot read, and why."""
        for partition, why in self._core.unreadable():
            yield TopicPartition(self._record_topic.topic, partition), why

    # -- leadership ----------------------------------------------------------------------------

    def on_elected(self, led: LeadingReplica) -> None:
        """If it is one of its topic, it is loaded."""
        if led.partition.topic == self._record_topic.topic:
            led.watchers.append(partial(self._on_high_watermark_of, led))
            self._begin_place(led)

    def _on_high_watermark_of(self, led: LeadingReplica, high_watermark: Offset) -> None:
        loaded = self._loaded.get(led.partition.partition)
        if loaded is not None and loaded.led is led:
            self._on_high_watermark(loaded.place, high_watermark)

    def _begin_place(self, led: LeadingReplica) -> None:
        place = Place(led.partition.partition, led.leader_epoch)
        self._sender.stop(place.partition)
        shard, effects = self._core.elected(place)
        loaded = self._loaded[place.partition] = LoadedPartition(place, led, shard, deque())
        self._carry_out(None, effects)
        begin(self._deps.tasks, self._load(loaded))

    def on_resigned(self, partition: TopicPartition) -> None:
        """If it is one of its topic, another coordinates what belongs to it."""
        if partition.topic == self._record_topic.topic:
            self._resign(partition.partition)

    def _resign(self, partition: int) -> None:
        self._sender.stop(partition)
        self._loaded.pop(partition, None)
        self._carry_out(None, self._core.resigned(partition))

    def close(self) -> None:
        """The broker stops: requests that wait are answered NOT_COORDINATOR."""
        self._is_closed = True
        for partition in tuple(self._loaded):
            self._resign(partition)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def _load(self, loaded: LoadedPartition) -> None:
        """Until all of its log was read: half of it would mean old offsets.

        A batch that is corrupt makes another replica lead. Where there is none, clients are told
        from the second attempt on, and the log is read again until somebody has mended it.
        """
        partition, failures = str(loaded.led.partition), 0
        began = self._deps.clock.monotonic()
        while self._is_current(loaded):
            try:
                async with self._turns:
                    if not await self._read(loaded):
                        return
            except BrokerError as error:
                failures += 1
                if failures == TOLD_AFTER:
                    log.error("coordinator.not_loaded", partition=partition, error=str(error))
                if self._is_current(loaded):
                    why = str(error) if failures >= TOLD_AFTER else None
                    self._core.begin_again(loaded.place, unreadable=why)
                clock = self._deps.clock
                await clock.sleep_until(Millis(clock.monotonic() + LOAD_AGAIN))
                continue
            end = loaded.led.log.log_end_offset
            loaded.shard.loaded(end)
            self.load_times.note(began, self._deps.clock.monotonic())
            log.debug("coordinator.loaded", partition=partition, end_offset=end)
            self._on_high_watermark(loaded.place, loaded.led.leader.high_watermark)
            return

    def _is_current(self, loaded: LoadedPartition) -> bool:
        return self._loaded.get(loaded.place.partition) is loaded

    async def _read(self, loaded: LoadedPartition) -> bool:
        """Replays the log; returns whether the leadership is still the same.

        It may have ended while others were loaded, and the log be cut by now.
        """
        if not self._is_current(loaded):
            return False
        turns = LoadingTurns(self._deps.clock)
        async for piece in self._deps.replicas.logs.read_in_pieces(loaded.led.log, READ_BYTES):
            decode = self._record_topic.decode
            for complaints in load_in_turns(loaded.shard, piece, decode, LOADED_BYTES):
                for complaint in complaints:
                    log.warning(
                        "coordinator.record_passed_over",
                        partition=str(loaded.led.partition),
                        reason=complaint,
                    )
                await turns.give_way()
                if not self._is_current(loaded):
                    return False
        return self._is_current(loaded)

    def _on_high_watermark(self, place: Place, high_watermark: Offset) -> None:
        self._carry_out(place, self._core.committed(place, high_watermark, self._now()))

    # -- effects -------------------------------------------------------------------------------

    def _carry_out(self, place: Place | None, effects: CoordinatorEffects) -> None:
        """In their order; effects that arise meanwhile are carried out afterwards."""
        self._effects.append((place, effects))
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._effects:
                where, found = self._effects.popleft()
                loaded = None if where is None else self._loaded.get(where.partition)
                if loaded is not None and loaded.place == where:
                    for append in found.append:
                        self._append(loaded, append)
                    for sent in found.send:
                        self._sender.send(loaded.place, sent)
                    self._set_timer(loaded.shard.next_deadline())
                for answer in found.answer:
                    self._answer(answer.ticket, answer.response)
        finally:
            self._is_busy = False

    def _append_end(self, loaded: LoadedPartition, number: int, end: TransactionEnd) -> None:
        writing = Writing(number, 1)
        loaded.writings.append(writing)
        done = partial(self._on_written, loaded, writing)
        try:
            loaded.led.end_own(end, done)
        except BrokerError as error:
            done(error)

    def _append(self, loaded: LoadedPartition, append: Append) -> None:
        if append.end is not None:
            self._append_end(loaded, append.number, append.end)
            return
        record_topic, bytes_max = self._record_topic, self._record_topic.batch_bytes_max()
        batches = list(
            to_batches(
                append.records,
                record_topic.encode,
                self._deps.clock.wall(),
                codec=record_topic.codec(),
                bytes_max=bytes_max,
                within=append.within,
            )
        )
        writing = Writing(append.number, len(batches))
        loaded.writings.append(writing)
        done = partial(self._on_written, loaded, writing)
        error = _fault(loaded.led, batches, bytes_max)
        for batch in batches:
            if error is None:
                try:
                    loaded.led.append_own(batch, done)
                    continue
                except BrokerError as found:
                    error = found
            done(error)

    def _on_written(
        self, loaded: LoadedPartition, writing: Writing, outcome: Offset | BrokerError
    ) -> None:
        writing.missing -= 1
        if isinstance(outcome, BrokerError):
            writing.error = writing.error or outcome
        elif writing.base_offset is None:
            writing.base_offset = outcome
        while loaded.writings and not loaded.writings[0].missing:
            self._report(loaded, loaded.writings.popleft())
        if loaded in self._given_up and not loaded.writings:
            self._given_up.remove(loaded)
            asyncio.get_running_loop().call_soon(self._begin_again, loaded)
            return
        # It may be committed already: the core was told before it knew the offset.
        self._on_high_watermark(loaded.place, loaded.led.leader.high_watermark)

    def _report(self, loaded: LoadedPartition, writing: Writing) -> None:
        """An append has ended; the core is told of appends in the order of the log."""
        place = loaded.place
        if not self._is_current(loaded):
            return  # the core knows another one, or none
        if writing.error is None:
            assert writing.base_offset is not None, writing.number
            self._core.appended(place, writing.number, writing.base_offset)
        elif writing.base_offset is None:
            failure = writing.error.code, self._now()
            self._carry_out(place, self._core.append_failed(place, writing.number, failure))
        else:
            # The log and the state in memory differ from here on.
            log.error("coordinator.half_written", place=place, reason=str(writing.error))
            self._resign(place.partition)
            self._given_up.append(loaded)

    def _begin_again(self, loaded: LoadedPartition) -> None:
        """All that was on its way is in the log, or is not: what the log says is true.

        It may lead in a later epoch by now: a leader that leads on is not elected anew.
        """
        if not loaded.led.is_over and not self._is_closed:
            self._begin_place(loaded.led)

    def _answer(self, ticket: Ticket, response: Any) -> None:
        ended = self._ending.pop(ticket, None)
        if ended is not None:
            ended(response if self._deps.may_answer() else NotCoordinator.code)
            return
        call, number = self._waiting.pop(ticket, (None, 0))
        if call is None:
            return  # the client has gone
        call.answers[number] = response
        call.missing -= 1
        if call.missing:
            return
        if not self._deps.may_answer():  # of one moment: all of it, or nothing
            call.answers = [self._core.refuse(request) for _, request in call.parts]
        call.answered(call.answers)

    # -- time ----------------------------------------------------------------------------------

    def _now(self) -> Moment:
        return Moment(self._deps.clock.monotonic(), self._deps.clock.wall())

    def _set_timer(self, deadline: Millis | None) -> None:
        """Sets the one timer of all partitions; it may fire too early, never too late."""
        if deadline is None or (self._timer is not None and self._timer_at <= deadline):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = deadline
        self._timer = self._deps.timers.at(deadline, self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        for place, effects in tuple(self._core.tick(self._now())):
            self._carry_out(place, effects)
        self._set_timer(self._core.next_deadline())


def _fault(
    led: LeadingReplica, batches: Sequence[bytearray], bytes_max: Bytes
) -> BrokerError | None:
    """Why they cannot be appended; one bad batch refuses all of them."""
    try:
        led.leader.check_enough_replicas()
    except BrokerError as error:
        return error
    size = max(map(len, batches))
    return BatchTooLarge(f"{size} bytes; at most {bytes_max}") if size > bytes_max else None

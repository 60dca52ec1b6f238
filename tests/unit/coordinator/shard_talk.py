"""A coordinator's partition to talk to, whatever it coordinates: its log is batches in memory.

By default whatever is appended is committed at once. `hold()` lets appends and commits wait, so
that a test can look at what happens in between.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from odradek.coordinator.batches import load_batches
from odradek.coordinator.decision import Append, Call, Caller, CoordinatorEffects, Moment, Ticket
from odradek.coordinator.shard import Shard
from odradek.model.errors import ErrorCode
from odradek.model.positions import Offset
from odradek.model.units import Bytes, Millis, Timestamp
from odradek.records.batch import headers, place, read_header

BATCH_BYTES = Bytes(1 << 20)
SECOND = 1000


class ShardTalk(ABC):
    """One partition's shard, its log, a clock, and what was answered."""

    decode: ClassVar[Callable[..., Any]]  # of the topic's records
    version: ClassVar[int] = 0  # of requests, unless a test names another

    def __init__(self) -> None:
        self.now = Moment(Millis(1_000_000), Timestamp(1_700_000_000_000))
        self.log = bytearray()
        self.end = self.high_watermark = Offset(0)
        self.queue: list[Append] = []  # decided, not appended
        self.held = False
        self.answers: dict[Ticket, Any] = {}
        self.tickets = 0
        self.complaints: list[str] = []
        self.begin()

    @abstractmethod
    def new_shard(self) -> Shard:
        """Around a new machine."""

    @abstractmethod
    def batches(self, append: Append) -> Iterable[bytearray]:
        """What the shell would write."""

    # -- the coordinator's life -------------------------------------------------------------------

    def begin(self) -> None:
        """A shard for the partition, which loads the log as it is."""
        self.shard = self.new_shard()
        self.complaints = load_batches(self.shard, bytes(self.log), type(self).decode)
        self.shard.loaded(self.end)
        self.settle(self.shard.committed(self.end, self.now))

    def fail_over(self, *, losing: bool = False) -> None:
        """The coordinator dies, with what it had not appended; another one takes its place.

        What was not committed may be lost with it, or it may be in the new leader's log too.
        """
        self.queue.clear()
        self.held = False
        if losing:
            lengths = [
                head.size
                for _, head in headers(self.log)
                if head.next_offset <= self.high_watermark
            ]
            del self.log[sum(lengths) :]
            self.end = self.high_watermark
        self.take(self.shard.resign())
        self.begin()

    def hold(self) -> None:
        """From now on nothing is appended or committed."""
        self.held = True

    def flow(self) -> None:
        """What waited is appended and committed, and so is everything from now on."""
        self.held = False
        self.settle(CoordinatorEffects())

    def append(self) -> None:
        """What waited is appended, but not committed."""
        for append in self.queue:
            base_offset = self.end
            self.write(append)
            self.shard.appended(append.number, base_offset)
        self.queue.clear()

    def write(self, append: Append) -> None:
        """To the log, as the shell does."""
        for batch in self.batches(append):
            place(batch, 0, self.end, 0)
            self.end = Offset(self.end + read_header(batch).record_count)
            self.log += batch

    def commit_appended(self) -> None:
        """What was appended is committed; nothing else is appended."""
        self.high_watermark = self.end
        self.take(self.shard.committed(self.end, self.now))

    def fail_append(self, code: ErrorCode) -> None:
        """The log refuses what waited longest."""
        append = self.queue.pop(0)
        self.settle(self.shard.append_failed(append.number, code, self.now))

    def settle(self, effects: CoordinatorEffects) -> None:
        """Carries out effects, and all that follows from them."""
        self.take(effects)
        while not self.held and (self.queue or self.high_watermark < self.end):
            self.append()
            self.commit_appended()

    def take(self, effects: CoordinatorEffects) -> None:
        """Appends wait in the queue; each call is answered once."""
        self.queue += effects.append
        for answer in effects.answer:
            assert answer.ticket not in self.answers, answer
            self.answers[answer.ticket] = answer.response

    def run(self, seconds: float) -> None:
        """Time passes, from deadline to deadline."""
        until = self.now.monotonic + int(seconds * SECOND)
        while (deadline := self.shard.next_deadline()) is not None and deadline <= until:
            self.step()
        self._pass(until - self.now.monotonic)

    def step(self) -> None:
        """Time passes until the next deadline."""
        deadline = self.shard.next_deadline()
        assert deadline is not None
        self._pass(max(deadline - self.now.monotonic, 0))
        self.settle(self.shard.tick(self.now))

    def _pass(self, millis: int) -> None:
        self.now = Moment(Millis(self.now.monotonic + millis), Timestamp(self.now.wall + millis))

    # -- requests ---------------------------------------------------------------------------------

    def ask(self, request: Any, version: int | None = None) -> Ticket:
        """Sends a request; the ticket stands for its answer."""
        self.tickets += 1
        ticket = Ticket(self.tickets)
        spoken = self.version if version is None else version
        call = Call(ticket, request, spoken, Caller("app", "/10.0.0.1"))
        self.settle(self.shard.on_call(call, self.now))
        return ticket

    def said(self, ticket: Ticket) -> Any:
        """The answer; it must have come."""
        return self.answers[ticket]

    def waits(self, *tickets: Ticket) -> bool:
        """Whether none of these has been answered."""
        return not any(ticket in self.answers for ticket in tickets)

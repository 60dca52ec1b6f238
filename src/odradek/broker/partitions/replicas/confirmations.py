"""Whether a producer's transaction has this partition: its coordinator says (KIP-890).

A batch that begins a transaction in a log, and that no coordinator knows of, would never be ended:
no marker is sent for it, and readers wait for ever. So the leader asks before it takes the
first batch of a transaction; for those behind it the open transaction in the log is enough.

An answer counts for the moment in which it comes, and only if no marker of the producer came
meanwhile: else it may be about the transaction that this marker has ended, and the question is
asked again. So nothing that was confirmed is kept.

While its coordinator is not there, or still ends the transaction before, the question is repeated,
up to a bound: clients would only send the batch again.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol

from odradek.broker.timers import Timer, Timers
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND, Millis
from odradek.replication.errors import NotLeaderOrFollower

WAIT_MS_MAX: Final = Millis(SECOND)
"""So long a batch waits for its coordinator; what is behind it on its connection, too."""
PAUSE: Final = Millis(20)
PAUSE_MAX: Final = Millis(100)
"""Each pause before the question is repeated is twice the last one, up to this."""
AGAIN: Final = frozenset(
    {
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""They say nothing of the transaction."""

Told = Callable[[ErrorCode], None]


class Question(NamedTuple):
    """Whose transaction it is."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    adds: bool  # puts the partition into the transaction, rather than looks whether it is there


class Questions(Protocol):
    """The way to the coordinators."""

    timers: Timers

    def ask(self, question: Question, partition: TopicPartition, told: Told) -> None:
        """Tells in a later turn; perhaps never, if the coordinator does not answer."""
        ...


class Confirmation:
    """One question about one partition, and who waits for its answer, in their order."""

    __slots__ = (
        "_deadline",
        "_forget",
        "_last",
        "_partition",
        "_pause",
        "_questions",
        "is_void",
        "waiting",
    )

    def __init__(
        self, questions: Questions, partition: TopicPartition, forget: Callable[[], object]
    ) -> None:
        self._questions = questions
        self._partition = partition
        self._forget = forget
        self._last = ErrorCode.NETWORK_EXCEPTION  # why there is no answer yet
        self._pause = PAUSE
        self.is_void = False  # a marker came since it was asked
        self.waiting: dict[object, Told] = {}
        self._deadline: Timer | None = questions.timers.after(WAIT_MS_MAX, self._on_deadline)

    def ask(self, question: Question) -> None:
        """Now."""
        self.is_void = False
        self._questions.ask(question, self._partition, lambda code: self._on_answer(question, code))

    def add(self, told: Told) -> Callable[[], None]:
        """One more waits; how it gives up."""
        ticket = object()
        self.waiting[ticket] = told
        return lambda: self._give_up(ticket)

    def _give_up(self, ticket: object) -> None:
        self.waiting.pop(ticket, None)

    def _on_answer(self, question: Question, code: ErrorCode) -> None:
        if self._deadline is None:
            return  # too late
        if not self.waiting:
            self.tell(code)
        elif self.is_void:
            self.ask(question)
        elif code in AGAIN:
            self._last = code
            self._questions.timers.after(self._pause, lambda: self._ask_again(question))
            self._pause = min(Millis(2 * self._pause), PAUSE_MAX)
        else:
            self.tell(code)

    def _ask_again(self, question: Question) -> None:
        if self._deadline is not None:
            self.ask(question)

    def _on_deadline(self) -> None:
        self._deadline = None
        self.tell(self._last)

    def tell(self, code: ErrorCode = NotLeaderOrFollower.code) -> None:
        """It is over, for all who wait."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self._forget()
        waiting, self.waiting = self.waiting, {}
        for told in waiting.values():
            told(code)

"""What is to be sent and what awaits its answer, in one order.

Operations are handed in as submissions, and answered as such: a caller of ten thousand reads
waits once. They are sent in the order in which they came; a server answers one session in that
same order, so the oldest one sent is the only one that an answer can be for.

Bounded: the requests in flight, in number and in bytes (the last one may reach over the edge),
the operations that wait behind them, and the size of each request.
"""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.model.units import MIB, Bytes
from odradek.zookeeper.client.address import Chroot
from odradek.zookeeper.client.errors import (
    MultiFailed,
    NeverSent,
    OperationError,
    OutcomeUnknown,
    QueueFull,
    RequestTooLarge,
    error_of,
    multi_error,
)
from odradek.zookeeper.protocol.codes import KeeperError, MalformedPacket
from odradek.zookeeper.protocol.jute import PACKET_BYTES_MAX
from odradek.zookeeper.protocol.jute_replies import Failed, Reply, ReplyHeader, Results, reply_body
from odradek.zookeeper.protocol.jute_requests import OPS, Multi, MultiRead, Request, framed_request

XID_MAX: Final = (1 << 31) - 1
REPLY_BYTES_MAX: Final = Bytes(4 * MIB)  # jute.maxbuffer of Kafka's client

Answer = Reply | KeeperError


class PipelineLimits(NamedTuple):
    """How much one session may have under way."""

    in_flight_max: int = 1000  # zookeeper.max.in.flight.requests
    in_flight_bytes_max: Bytes = Bytes(4 * MIB)
    queued_max: int = 1_000_000
    request_bytes_max: Bytes = Bytes(PACKET_BYTES_MAX)  # jute.maxbuffer of the server
    reply_bytes_max: Bytes = REPLY_BYTES_MAX


class Submission:
    """Operations that were handed in together, and their answers, in the same order.

    `waits` says what is to happen while there is no connection: wait for one, or fail at once.
    """

    __slots__ = ("answers", "operations", "sent", "unanswered", "waits", "withdrawn")

    def __init__(self, operations: Sequence[Request], *, waits: bool = True) -> None:
        self.operations = operations
        self.answers: list[Answer] = [_NO_ANSWER] * len(operations)
        self.waits = waits
        self.withdrawn = False  # its caller has given up: what was not sent need not be
        self.sent = 0  # operations that left the queue; unanswered <= len(operations)
        self.unanswered = len(operations)


_NO_ANSWER: Final = NeverSent()


class InFlight(NamedTuple):
    """One request that was sent, and where its answer goes."""

    submission: Submission
    place: int  # among its operations
    request: Request  # with its paths as the server has them
    size: int


class Pipeline:
    """The queue, and the window in front of it. Whatever has all its answers moves to `done`."""

    def __init__(self, limits: PipelineLimits, chroot: Chroot) -> None:
        self.done: list[Submission] = []
        self._limits = limits
        self._chroot = chroot
        self._queue: deque[Submission] = deque()  # the first may have been sent in part
        self._queued = 0  # operations of the submissions in the queue
        self._window: deque[InFlight] = deque()
        self._window_bytes = 0
        self._xid = 0  # the last one given away

    @property
    def in_flight(self) -> int:
        """How many requests await their answer."""
        return len(self._window)

    @property
    def thirsty(self) -> bool:
        """Whether to send more: only once half the window is free, so that much goes together."""
        return (
            bool(self._queue)
            and len(self._window) * 2 <= self._limits.in_flight_max
            and self._window_bytes * 2 <= self._limits.in_flight_bytes_max
        )

    def submit(self, submission: Submission) -> None:
        """Puts the operations at the end of the queue; too many of them are refused."""
        if not submission.operations:
            self.done.append(submission)
        elif self._queued + len(submission.operations) > self._limits.queued_max:
            self.fail(submission, QueueFull)
        else:
            self._queue.append(submission)
            self._queued += len(submission.operations)

    def fill(self) -> bytes:
        """The requests that go out now, as many as the window takes."""
        frames: list[bytes] = []
        limits = self._limits
        while (
            self._queue
            and len(self._window) < limits.in_flight_max
            and self._window_bytes < limits.in_flight_bytes_max
        ):
            submission = self._queue[0]
            if submission.withdrawn:
                self.fail(submission, NeverSent)
            else:
                frames.append(self._send(submission))
            if submission.sent == len(submission.operations):
                self._queue.popleft()
                self._queued -= submission.sent
        return b"".join(frames)

    def _send(self, submission: Submission) -> bytes:
        index = submission.sent
        submission.sent += 1
        request = self._chroot.down(submission.operations[index])
        xid = self._xid % XID_MAX + 1
        frame = framed_request(xid, request)
        if len(frame) - 4 > self._limits.request_bytes_max:
            self.answer(submission, index, RequestTooLarge(subject_of(request)))
            return b""
        self._xid = xid
        self._window.append(InFlight(submission, index, request, len(frame)))
        self._window_bytes += len(frame)
        return frame

    def take(self, header: ReplyHeader, packet: bytes) -> Request:
        """Gives the oldest request its answer, and says which it was, as it was sent.

        An answer to anything else means that nothing on this connection can be believed.
        """
        if not self._window:
            raise MalformedPacket(f"an answer to xid {header.xid}, though nothing was asked")
        awaited = (self._xid - len(self._window)) % XID_MAX + 1
        if header.xid != awaited:
            raise MalformedPacket(f"an answer to xid {header.xid}, though {awaited} is the oldest")
        submission, index, request, size = self._window[0]
        answer = self._decoded(submission.operations[index], header, packet)
        self._window.popleft()
        self._window_bytes -= size
        self.answer(submission, index, answer)
        return request

    def _decoded(self, request: Request, header: ReplyHeader, packet: bytes) -> Answer:
        if header.error:
            error = error_of(header.error, subject_of(request))
            return MultiFailed(error, None) if isinstance(request, Multi) else error
        reply = reply_body(OPS[type(request)], packet)
        if isinstance(request, (Multi, MultiRead)):
            assert isinstance(reply, Results), reply
            fault = _fault_of_multi(request, reply)
            if fault is not None:
                return fault
        return self._chroot.up(request, reply)

    def lose_window(self) -> None:
        """The connection is gone: it is unknown what became of what was sent."""
        for submission, index, request, _ in self._window:
            self.answer(submission, index, OutcomeUnknown(subject_of(request)))
        self._window.clear()
        self._window_bytes = 0

    def fail_impatient(self) -> None:
        """There is no connection: those who did not want to wait for one are told."""
        impatient = [submission for submission in self._queue if not submission.waits]
        self._queue = deque(submission for submission in self._queue if submission.waits)
        for submission in impatient:
            self._queued -= len(submission.operations)
            self.fail(submission, NeverSent)

    def fail_queue(self, reason: type[OperationError]) -> None:
        """Answers all that was not sent with this error."""
        for submission in self._queue:
            self.fail(submission, reason)
        self._queue.clear()
        self._queued = 0

    def fail(self, submission: Submission, reason: type[OperationError]) -> None:
        """Answers what was not sent of one submission with this error."""
        if not submission.operations:
            self.done.append(submission)
        unsent = range(submission.sent, len(submission.operations))
        submission.sent = len(submission.operations)
        for index in unsent:
            self.answer(submission, index, reason(subject_of(submission.operations[index])))

    def answer(self, submission: Submission, index: int, answer: Answer) -> None:
        """Gives one operation its answer; with the last of them the submission is done."""
        assert submission.answers[index] is _NO_ANSWER, submission.operations[index]
        submission.answers[index] = answer
        submission.unanswered -= 1
        if not submission.unanswered:
            self.done.append(submission)


def subject_of(request: Request) -> str:
    """What a request is about, for messages."""
    path: str = getattr(request, "path", "")
    return f"{OPS[type(request)].name} {path}".rstrip()


def _fault_of_multi(request: Multi | MultiRead, reply: Results) -> MultiFailed | None:
    """Why nothing of a multi was done; the reads of a `MultiRead` fail one by one instead."""
    if len(reply.results) != len(request.ops):
        raise MalformedPacket(f"{len(reply.results)} results for {len(request.ops)} operations")
    failed = [result for result in reply.results if isinstance(result, Failed)]
    if not failed or isinstance(request, MultiRead):
        return None
    if len(failed) != len(request.ops):
        raise MalformedPacket("a multi of which a part was done")
    return multi_error([result.code for result in failed], [subject_of(op) for op in request.ops])

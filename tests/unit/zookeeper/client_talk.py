"""A conversation with the core of the client: the test is its server, its owner and its clock."""

from odradek.model.units import Millis
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.pipeline import Submission
from odradek.zookeeper.client.session import Session, SessionEffects, SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status, StatusChanged
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute import Packets, Stat, framed
from odradek.zookeeper.protocol.jute_replies import (
    Children2,
    Connected,
    Created2,
    Data,
    Done,
    Event,
    Number,
    Reply,
    ReplyHeader,
    StatReply,
    framed_event,
    framed_reply,
)
from odradek.zookeeper.protocol.jute_request_reader import request_body, request_header
from odradek.zookeeper.protocol.jute_requests import (
    AddWatch,
    Auth,
    Connect,
    Create2,
    CreateContainer,
    CreateTtl,
    Exists,
    GetChildren2,
    GetData,
    Request,
    SetData,
)

TIMEOUT = Millis(6_000)
PASSWORD = b"sixteen bytes !!"
STAT = Stat(1, 2, 3, 4, 5, 6, 7, 0, 9, 10, 11)


class Highest:
    """A Random door without chance: always the last that is possible, so nothing is shuffled."""

    def below(self, bound: int) -> int:
        """The last of them."""
        return bound - 1

    def bytes(self, count: int) -> bytes:
        """Nobody asks."""
        raise NotImplementedError


class Talk:
    """Holds the session and what it has done so far."""

    def __init__(self, connect: str = "a:1,b:2", settings: SessionSettings | None = None) -> None:
        self.settings = settings or SessionSettings(timeout=TIMEOUT)
        self.session = Session(Ensemble.parse(connect), Highest(), self.settings)
        self.now = Millis(1_000)
        self.dialled: list[tuple[str, int]] = []
        self.looked: list[tuple[str, int]] = []
        self.hung_up = 0
        self.events: list[WatchEvent] = []
        self.statuses: list[Status] = []
        self.delivered: list[object] = []  # all of it, in order
        self.hellos: list[Connect] = []
        self.asked: list[tuple[int, Request]] = []  # on this connection, and not answered
        self._packets = Packets(1 << 30)
        self._greeted = False

    # The owner

    def begin(self) -> None:
        """Asks for a session."""
        self.carry_out(self.session.begin(self.now))

    def ask(self, *operations: Request, waits: bool = True) -> Submission:
        """Hands in operations."""
        submission = Submission(operations, waits=waits)
        self.carry_out(self.session.submit(submission, self.now))
        return submission

    def authenticate(self, scheme: str, credentials: bytes) -> Submission:
        """Gives credentials."""
        submission = Submission([Auth(scheme, credentials)])
        self.carry_out(self.session.authenticate(submission, self.now))
        return submission

    def close(self) -> None:
        """Closes the session."""
        self.carry_out(self.session.close(self.now))

    def live(
        self, *, session_id: int = 7, timeout: int = TIMEOUT, read_only: bool = False
    ) -> "Talk":
        """From the beginning to a session."""
        self.begin()
        self.connect()
        self.welcome(session_id=session_id, timeout=timeout, read_only=read_only)
        return self

    # The network and the clock

    def connect(self) -> None:
        """The connection asked for is there."""
        self._packets = Packets(1 << 30)
        self._greeted = False
        self.asked.clear()
        self.carry_out(self.session.connected(self.now))

    def cut(self, reason: str = "cut") -> None:
        """The connection is gone, or could not be had."""
        self.carry_out(self.session.closed(reason, self.now))

    def after(self, millis: int) -> None:
        """Time goes by, and the clock ticks once."""
        self.now = Millis(self.now + millis)
        self.carry_out(self.session.tick(self.now))

    # The server

    def say(self, data: bytes) -> None:
        """Any bytes."""
        self.carry_out(self.session.received(data, self.now))

    def welcome(
        self, *, session_id: int = 7, timeout: int = TIMEOUT, read_only: bool = False
    ) -> None:
        """Grants the session."""
        hello = Connected(timeout, session_id, PASSWORD, read_only)
        self.say(framed(hello.body()))

    def answer(self, reply: Reply | int | None = None, zxid: int = 0) -> None:
        """Answers the oldest request: by a reply, an error's number, or by what fits."""
        xid, request = self.asked.pop(0)
        if reply is None:
            reply = fitting(request)
        if isinstance(reply, int):
            self.say(framed_reply(ReplyHeader(xid, zxid, reply)))
        else:
            self.say(framed_reply(ReplyHeader(xid, zxid, 0), reply.body()))

    def answer_all(self) -> None:
        """Everything there is to answer, whatever is asked meanwhile."""
        while self.asked:
            self.answer()

    def notify(self, kind: int, path: str) -> None:
        """A watch fires."""
        self.say(framed_event(-1, Event(kind, path)))

    # What came of it

    def carry_out(self, effects: SessionEffects) -> None:
        """Notes what the session wants."""
        self.hung_up += effects.hang_up
        for frames in effects.send:
            self._read(frames)
        self.delivered += effects.deliver
        for news in effects.deliver:
            if isinstance(news, WatchEvent):
                self.events.append(news)
            elif isinstance(news, StatusChanged):
                self.statuses.append(news.status)
        if effects.dial is not None:
            self.dialled.append(effects.dial)
        if effects.look is not None:
            self.looked.append(effects.look)

    def requests(self) -> list[object]:
        """What awaits an answer."""
        return [request for _, request in self.asked]

    def _read(self, frames: bytes) -> None:
        for packet in self._packets.feed(frames):
            if self._greeted:
                xid, op = request_header(packet)
                self.asked.append((xid, request_body(op, packet)))
            else:
                self._greeted = True
                self.hellos.append(Connect.decode(packet))


def fitting(request: Request) -> Reply:
    """What a server might answer."""
    match request:
        case GetData():
            return Data(b"data", STAT)
        case Exists() | SetData():
            return StatReply(STAT)
        case GetChildren2():
            return Children2(["child"], STAT)
        case Create2(path=path) | CreateContainer(path=path) | CreateTtl(path=path):
            return Created2(path, STAT)
        case AddWatch():
            return Number(0)
        case _:
            return Done()


def error_types(submission: Submission) -> list[type]:
    """The types of the answers, which are all errors."""
    assert all(isinstance(answer, KeeperError) for answer in submission.answers)
    return [type(answer) for answer in submission.answers]

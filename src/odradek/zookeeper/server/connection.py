"""One connection, as the server sees it: what came and was not worked off, what waits to go out.

Answers leave in the order in which they were made, and each waits until the transaction that it
may tell of is durable. So an event of a watch, queued when its change was made, is always ahead of
an answer that shows the change.
"""

from collections import deque
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from odradek.model.units import Millis, Timestamp
from odradek.ports import Address
from odradek.zookeeper.protocol.codes import OpCode
from odradek.zookeeper.protocol.jute import Identity, Packets

if TYPE_CHECKING:
    from odradek.security.mechanisms.mechanism import ServerMechanism
    from odradek.zookeeper.tree.sessions import Session


def _op_name(op: int) -> str:
    return OpCode(op).name if op in OpCode._value2member_map_ else "NA"


class Phase(Enum):
    """What may come next."""

    GREETING = auto()  # a connect request, or a four-letter word
    NAMING = auto()  # a proof of a name, which this server asks for
    SERVING = auto()  # requests
    ENDING = auto()  # nothing more is read; what waits goes out, then it is closed
    GONE = auto()


class Waiting(NamedTuple):
    """An answer that may go once the journal has this transaction."""

    floor: int
    data: bytes
    since: Millis
    asked: int  # bytes of its request


class Connection:
    """Identity is what counts: two connections are never equal."""

    __slots__ = (
        "asked",
        "backlog",
        "deadline",
        "first",
        "identities",
        "is_unproven",
        "last_op",
        "last_xid",
        "last_zxid",
        "login",
        "outbox",
        "packets",
        "paused",
        "peer",
        "phase",
        "queued",
        "received",
        "sent",
        "session",
        "since",
        "unsent",
        "waiting",
    )

    def __init__(self, peer: Address, since: Timestamp, packet_bytes_max: int) -> None:
        self.peer = peer
        self.since = since
        self.phase = Phase.GREETING
        self.session: Session | None = None
        self.deadline = Millis(0)  # to greet, or to take the last answer
        self.is_unproven = False  # no name was ever proven in its session
        self.identities: list[Identity] = [Identity("ip", peer[0])]
        self.login: ServerMechanism | None = None  # a conversation of SASL that goes on
        self.first: bytearray | None = bytearray()  # until four bytes say what this is
        self.packets = Packets(packet_bytes_max)
        self.backlog: deque[bytes] = deque()  # packets that wait because too much is unsent
        self.waiting: deque[Waiting] = deque()
        self.outbox: list[bytes] = []  # answers that may go now
        self.asked = 0  # bytes of requests that wait for the disk
        self.queued = 0  # bytes in `waiting` and `outbox`
        self.unsent = 0  # bytes that the stream still holds
        self.paused = False
        self.received = 0  # packets
        self.sent = 0
        self.last_op = 0
        self.last_xid = -1
        self.last_zxid = -1

    def describe(self, *, brief: bool) -> str:
        """As `cons` and `stat` print it."""
        host, port = self.peer
        reads = 0 if self.paused else 1
        text = f" /{host}:{port}[{reads}](queued={len(self.backlog) + len(self.waiting)}"
        text += f",recved={self.received},sent={self.sent}"
        if not brief and self.session is not None:
            text += f",sid={self.session.id:#x},lop={_op_name(self.last_op)},est={self.since}"
            text += f",to={self.session.timeout}"
            if self.last_xid >= 0:
                text += f",lcxid={self.last_xid:#x}"
            text += f",lzxid={self.last_zxid:#x}" if self.last_zxid >= 0 else ",lzxid=0x0"
        return text + ")"

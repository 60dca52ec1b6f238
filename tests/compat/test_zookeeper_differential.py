"""A real server and ours are asked the same, request by request, whatever comes to mind.

Three sessions on each server ask, break off, come back and leave; see `zookeeper_imagination.py`.
What comes back must be the same: codes, bodies, and the events of every session. Numbers that each
server chooses for itself, of transactions and sessions, are replaced by their order of appearance;
times are left out. `DIFFER=100:140` in the environment tries other seeds.
"""

import os
import socket
from collections.abc import Sequence
from typing import Final

import pytest

from odradek.ports import Address
from odradek.zookeeper.protocol.codes import (
    AUTH_XID,
    NOTIFICATION_XID,
    PING_XID,
    SET_WATCHES_XID,
    CreateMode,
)
from odradek.zookeeper.protocol.jute import OPEN_ACL, Packets, Stat, framed
from odradek.zookeeper.protocol.jute_replies import (
    AclReply,
    Children,
    Children2,
    Connected,
    Identities,
    event_body,
    reply_body,
    reply_header,
)
from odradek.zookeeper.protocol.jute_requests import (
    OPS,
    Auth,
    CloseSession,
    Connect,
    Create,
    Ping,
    Request,
    SetWatches,
    SetWatches2,
    framed_request,
)
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.zookeeper import RealZookeeper
from tests.samples.zookeeper_imagination import SESSIONS, Imagination, Leave, Reconnect, Turn

FIRST, LAST = map(int, os.environ.get("DIFFER", "0:6").split(":"))
TURNS: Final = 500
SECONDS_MAX: Final = 30


class End:
    """One session with one server."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._xid = 0
        self.zxid = 0
        self.session = Connected(0, 0, bytes(16), None)
        self.connect()

    def connect(self) -> None:
        """A new connection, for the session that there is or a new one."""
        self._socket = socket.create_connection(self._address, timeout=SECONDS_MAX)
        self._packets = Packets()
        self._arrived: list[bytes] = []
        hello = Connect(0, 40_000, self.session.session_id, self.session.password)
        self._socket.sendall(framed(hello.body()))
        packet = self._packet()
        assert packet is not None
        self.session = Connected.decode(packet)
        assert self.session.session_id

    def close(self) -> None:
        """Breaks the connection."""
        self._socket.close()

    def ask(self, request: Request) -> tuple[list[bytes], bytes | None]:
        """The events before the answer, and the answer: None where there is a hang-up instead."""
        self._xid += 1
        special = {Auth: AUTH_XID, Ping: PING_XID, SetWatches: SET_WATCHES_XID}
        special[SetWatches2] = SET_WATCHES_XID
        self._socket.sendall(framed_request(special.get(type(request), self._xid), request))
        events: list[bytes] = []
        while (packet := self._packet()) is not None:
            header = reply_header(packet)
            if header.xid != NOTIFICATION_XID:
                self.zxid = header.zxid
                return events, packet
            events.append(packet)
        return events, None

    def is_over(self) -> bool:
        """Whether the server hangs up, as it has to now."""
        return self._packet() is None

    def _packet(self) -> bytes | None:
        while not self._arrived:
            try:
                chunk = self._socket.recv(1 << 16)
            except ConnectionError:
                return None
            if not chunk:
                return None
            self._arrived += self._packets.feed(chunk)
        return self._arrived.pop(0)


class Side:
    """One of the servers, with its sessions."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self.ends = [End(address) for _ in range(SESSIONS)]
        self._marks = [0]  # transactions that were the newest at some time
        self._zxids: dict[int, str] = {}
        self._owners: dict[int, str] = {0: "nobody"}

    def close(self) -> None:
        """Leaves in good order."""
        for end in self.ends:
            end.ask(CloseSession())
            end.close()

    def take(self, who: int, turn: Turn) -> object:
        """Carries the turn out; what was to be seen of it, without what differs each time."""
        end = self.ends[who]
        seen: list[object] = []
        if isinstance(turn, Reconnect):
            end.close()
            end.connect()
        elif isinstance(turn, Leave):
            events, answer = end.ask(CloseSession())
            seen += [
                sorted(map(self._event, events)),
                self._answer(turn, (), answer),
                end.is_over(),
            ]
            self._replace(who)
        else:
            if isinstance(turn, SetWatches | SetWatches2):
                turn = turn._replace(relative_zxid=self._marks[turn.relative_zxid])
            seen.append(self._answer(turn, *end.ask(turn)))
            if isinstance(turn, Auth) and seen[-1] != ([], 0, "Done()"):
                seen.append(end.is_over())
                self._replace(who)
        for other in self.ends:
            events, answer = other.ask(Ping())
            assert answer is not None
            told = [self._event(packet) for packet in events]
            seen.append(sorted(told) if isinstance(turn, Leave) else told)
        self._marks = [*self._marks[-30:], self.ends[who].zxid]
        return seen

    @property
    def marks(self) -> int:
        """How many there are to choose from."""
        return len(self._marks)

    def _replace(self, who: int) -> None:
        self.ends[who].close()
        self.ends[who] = End(self._address)

    def _answer(self, turn: Turn, events: Sequence[bytes], packet: bytes | None) -> object:
        told = [self._event(event) for event in events]
        if packet is None:
            return told, "hung up"
        code = reply_header(packet).error
        if code or isinstance(turn, Reconnect | Leave):
            return told, code, packet[16:]
        answer = reply_body(OPS[type(turn)], packet)
        assert answer.body() == packet[16:], "every byte was read"
        return told, code, self._shown(answer)

    def _shown(self, answer: object) -> str:
        match answer:
            case Stat():
                return str(self._stat(answer))
            case Children():
                return f"Children({sorted(answer.names)})"
            case Identities():
                return f"Identities({sorted(answer.identities)})"
            case AclReply():  # who is meant by `auth` comes in the order of a set
                return f"AclReply({sorted(answer.acl)}, {self._stat(answer.stat)})"
            case Children2():
                return f"Children2({sorted(answer.names)}, {self._stat(answer.stat)})"
            case tuple():
                fields: list[str] = []
                for field in answer:
                    if isinstance(field, list) and type(answer).__name__ == "Results":
                        fields += map(self._shown, field)
                    elif isinstance(field, Stat):
                        fields.append(self._shown(field))
                    else:
                        fields.append(repr(field))
                return f"{type(answer).__name__}({', '.join(fields)})"
            case _:
                return repr(answer)

    def _stat(self, stat: Stat) -> list[object]:
        for end, number in zip(self.ends, range(SESSIONS), strict=True):
            self._owners.setdefault(end.session.session_id, f"{number}/{len(self._owners)}")
        zxids = [
            self._zxids.setdefault(zxid, f"z{len(self._zxids)}")
            for zxid in (stat.czxid, stat.mzxid, stat.pzxid)
        ]
        same_time = stat.ctime == stat.mtime or stat.version > 0
        counts = stat[4:7] + stat[8:10]
        return [*zxids, same_time, *counts, self._owners[stat.ephemeral_owner]]

    @staticmethod
    def _event(packet: bytes) -> str:
        return str(event_body(packet))


@pytest.mark.parametrize("seed", range(FIRST, LAST))
def test_whatever_is_asked_is_answered_alike(
    seed: int, real_zookeeper: RealZookeeper, our_zookeeper: OurZookeeper
) -> None:
    """Turn by turn, by every session."""
    mind = Imagination(seed)
    sides = [Side((real_zookeeper.host, real_zookeeper.port)), Side(our_zookeeper.address)]
    codes = set()
    for side in sides:
        side.ends[0].ask(Create(mind.root, b"", OPEN_ACL, CreateMode.PERSISTENT))
    for number in range(TURNS):
        who, turn = mind.chance.randrange(SESSIONS), mind.turn(sides[0].marks)
        real, ours = [side.take(who, turn) for side in sides]
        assert ours == real, f"turn {number}: {who} asks for {turn}"
        codes.add(str(real)[:40])
    for side in sides:
        side.close()
    assert len(codes) > 20, "it went as it was meant to"

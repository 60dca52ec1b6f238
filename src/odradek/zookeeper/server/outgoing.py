"""What leaves the server, and when: entries to the journal, answers to clients, closing.

An answer is queued with its floor: the transaction that must be durable before anybody may see it.
Floors only rise, so each connection's answers leave in the order in which they were made.
"""

from typing import NamedTuple

from odradek.model.units import Millis
from odradek.ports import Entry
from odradek.zookeeper.server.connection import Connection, Waiting
from odradek.zookeeper.server.stats import ServerStats


class Ending(NamedTuple):
    """A connection to close: after what it is still owed, or at once."""

    connection: Connection
    reason: str
    at_once: bool


class ServerEffects(NamedTuple):
    """What the shell has to do, in this order."""

    append: list[Entry]  # 1. to the journal; `durable` says when they are there
    send: list[tuple[Connection, list[bytes]]]  # 2. to clients: it is durable already
    pause: list[Connection]  # 3. stop reading
    resume: list[Connection]  # 4. read again
    end: list[Ending]  # 5. close

    def __bool__(self) -> bool:
        """Whether there is anything to do."""
        return any(self)


class Outgoing:
    """Everything on its way out of one server."""

    def __init__(self, durable_zxid: int, stats: ServerStats) -> None:
        self.durable_zxid = durable_zxid
        self._stats = stats
        self._effects = ServerEffects([], [], [], [], [])
        self._waiting: dict[Connection, None] = {}  # with answers that are not durable yet
        self._ready: dict[Connection, None] = {}  # with answers that may go
        self._owing: dict[Connection, Ending] = {}  # to be closed once their answers may go

    def append(self, entry: Entry) -> None:
        """To the journal."""
        self._effects.append.append(entry)

    def queue(
        self, connection: Connection, data: bytes, *, floor: int, now: Millis, asked: int
    ) -> None:
        """An answer to so many bytes, or an event, behind what is queued already."""
        connection.queued += len(data)
        if floor <= self.durable_zxid and not connection.waiting:
            connection.outbox.append(data)
            self._ready[connection] = None
        else:
            connection.waiting.append(Waiting(floor, data, now, asked))
            connection.asked += asked
            self._waiting[connection] = None

    def durable(self, zxid: int, now: Millis) -> list[Connection]:
        """What waited for this transaction may go; the connections that have room again."""
        assert self.durable_zxid <= zxid, (self.durable_zxid, zxid)
        self.durable_zxid = zxid
        relieved = list(self._waiting)
        for connection in relieved:
            waiting = connection.waiting
            while waiting and waiting[0].floor <= zxid:
                answer = waiting.popleft()
                self._stats.took(now - answer.since)
                connection.asked -= answer.asked
                connection.outbox.append(answer.data)
            if connection.outbox:
                self._ready[connection] = None
            if not waiting:
                del self._waiting[connection]
                ending = self._owing.pop(connection, None)
                if ending is not None:
                    self._effects.end.append(ending)
        return relieved

    def pause(self, connection: Connection) -> None:
        """Reads no more from it until it has room for answers."""
        if not connection.paused:
            connection.paused = True
            self._effects.pause.append(connection)

    def resume(self, connection: Connection) -> None:
        """Reads again."""
        if connection.paused:
            connection.paused = False
            self._effects.resume.append(connection)

    def end(self, ending: Ending) -> None:
        """Closes a connection, when it has what it is owed."""
        if ending.at_once:
            self.drop(ending.connection)
        if ending.connection.waiting:
            self._owing[ending.connection] = ending
        else:
            self._effects.end.append(ending)

    def drop(self, connection: Connection) -> None:
        """What it was owed it will not get."""
        connection.waiting.clear()
        connection.outbox.clear()
        connection.asked = connection.queued = 0
        self._waiting.pop(connection, None)
        self._ready.pop(connection, None)
        self._owing.pop(connection, None)

    def take(self) -> ServerEffects:
        """What is to be done now."""
        effects, self._effects = self._effects, ServerEffects([], [], [], [], [])
        for connection in self._ready:
            outbox, connection.outbox = connection.outbox, []
            size = sum(map(len, outbox))
            connection.queued -= size
            connection.unsent += size
            connection.sent += len(outbox)
            self._stats.sent += len(outbox)
            effects.send.append((connection, outbox))
        self._ready.clear()
        return effects

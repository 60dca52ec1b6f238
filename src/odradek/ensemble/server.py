"""The embedded ZooKeeper server on the loop: streams, the journal and the clock around its core.

One task writes to the journal, whatever came together while the last commit was under way; one
looks at the clock. Everything else happens in the callbacks of streams. When the journal fails,
nothing is answered any more: `serve` closes every connection and raises `JournalFailed`. So it does
after a mistake of ours, whatever that was: half of a change may be in memory, and in no journal.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple

import structlog

from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import KIB, MINUTE, Bytes, Millis
from odradek.peers.tls_stream import ROOM_BYTES, TlsEnd, TlsStream
from odradek.ports import (
    Address,
    Clock,
    Entry,
    Journal,
    Listener,
    Network,
    Random,
    Receiver,
    Stream,
)
from odradek.security.certificates.certificate_names import name_of
from odradek.security.certificates.der import MalformedCertificate
from odradek.zookeeper.protocol.codes import MalformedPacket
from odradek.zookeeper.server.connection import Connection
from odradek.zookeeper.server.server import Moment, Server
from odradek.zookeeper.server.settings import ServerSettings
from odradek.zookeeper.tree import snapshot
from odradek.zookeeper.tree.database import Database

SCRATCH_BYTES: Final = Bytes(64 * KIB)  # one for all connections: what was read is taken at once
SHORT: Final = 10  # a stop shortens what is a tenth as long: the next start would wait for it
IDLE: Final = MINUTE  # the longest sleep: the wall clock may have been set meanwhile

NewContext = Callable[[], ssl.SSLContext]
"""Of a connection that begins: certificates may have changed."""

log = structlog.get_logger()


class JournalFailed(BrokerError):
    """The embedded ZooKeeper cannot read its journal, or can write no more; it has stopped."""

    code = ErrorCode.KAFKA_STORAGE_ERROR


class Doors(NamedTuple):
    """What the server needs of the world."""

    clock: Clock
    random: Random
    network: Network
    journal: Journal


class ZookeeperServer:
    """One server. `open` it, then `serve` until cancelled; `close` may be called at any time."""

    def __init__(self, doors: Doors, settings: ServerSettings) -> None:
        self.scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._room = memoryview(bytearray(ROOM_BYTES))  # for what is encrypted
        self._doors = doors
        self._settings = settings
        self._core: Server | None = None
        self._listener: Listener | None = None
        self._links: dict[Connection, Link] = {}
        self._entries: list[Entry] = []
        self._written = asyncio.Event()  # there are entries, or there may be a snapshot to take
        self._hurry = asyncio.Event()  # the next tick is earlier than was thought
        self._awake_at = Millis(0)
        self._since_snapshot = (0, 0)  # entries of the journal, and their bytes
        self._snapshot: asyncio.Task[None] | None = None
        self._mistake: Exception | None = None  # of ours, in the callback of a stream
        self._mistaken = asyncio.Event()

    @property
    def core(self) -> Server:
        """The server's mind, once it is open."""
        assert self._core is not None, "it is not open"
        return self._core

    @property
    def address(self) -> Address:
        """Where it listens."""
        assert self._listener is not None, "it is not open"
        return self._listener.address

    async def open(self, address: Address, context: NewContext | None = None) -> None:
        """Restores what the journal has, and listens; `JournalFailed` says why it cannot.

        With a context it speaks TLS; a client's certificate is its name.
        """
        try:
            rows, entries = self._doors.journal.load()
            database = Database.restore(rows, self._counted(entries))
        except (MalformedPacket, OSError) as error:
            raise JournalFailed(f"the journal cannot be read: {error}") from error
        self._core = self.new_core(database, self._settings, self._doors.random)
        accept = self._accept if context is None else partial(self._accept_secured, context)
        self._listener = await self._doors.network.listen(address, accept)
        log.info(
            "zookeeper.listens",
            address=self.address,
            nodes=len(database.tree.nodes),
            sessions=len(database.sessions.open),
            zxid=database.zxid,
        )

    def new_core(self, database: Database, settings: ServerSettings, random: Random) -> Server:
        """What decides, on what was restored; a simulated one may refuse."""
        return Server(database, settings, random, self.moment())

    async def serve(self) -> None:
        """Runs until it is cancelled or its journal fails.

        Cancelled, it stops in good order: it hangs up, and shortens a long journal for the next
        start; cancelled once more, it leaves that.
        """
        self._written.set()  # the journal may be long already
        try:
            await self._run()
        except asyncio.CancelledError:
            await self._shorten()
            raise

    async def _run(self) -> None:
        reason: Exception | None = None
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._write(tasks))
                tasks.create_task(self._tick())
                tasks.create_task(self._own_up())
        except* OSError as errors:
            reason = errors.exceptions[0]
        finally:
            self.close()
        if reason is not None:
            log.error("zookeeper.journal_failed", error=str(reason))
            raise JournalFailed(
                f"the embedded ZooKeeper stops, since its journal cannot be written: {reason}"
            ) from reason

    def close(self) -> None:
        """Stops listening and hangs up; sessions live on for who reconnects after a restart."""
        if self._listener is not None:
            self._listener.close()
        for link in list(self._links.values()):
            link.stream.abort()

    def stumble(self, mistake: Exception) -> None:
        """Memory may differ from the journal from now on: no client is told anything."""
        self._mistake = self._mistake or mistake
        self._mistaken.set()
        self.close()

    async def _own_up(self) -> None:
        await self._mistaken.wait()
        assert self._mistake is not None
        raise self._mistake

    def moment(self) -> Moment:
        """What time it is."""
        return Moment(self._doors.clock.monotonic(), self._doors.clock.wall())

    def act(self) -> None:
        """Carries out what the core wants, until it wants nothing more."""
        core, links = self.core, self._links
        while effects := core.take():
            if effects.append:
                self._entries += effects.append
                self._written.set()
            for connection, chunks in effects.send:
                stream = links[connection].stream
                stream.send(chunks if len(chunks) == 1 else (b"".join(chunks),))
                core.sent(connection, stream.unsent)
            for connection in effects.pause:
                links[connection].stream.pause()
            for connection in effects.resume:
                links[connection].stream.resume()
            for connection, reason, at_once in effects.end:
                link = links.get(connection)
                if link is not None:
                    log.debug("zookeeper.hung_up", peer=connection.peer, reason=reason)
                    (link.stream.abort if at_once else link.stream.close)()

    def _accept(self, stream: Stream) -> "Link":
        core = self.core
        connection = core.connected(stream.peer, self.moment())
        link = Link(self, stream, connection)
        if connection is None:
            asyncio.get_running_loop().call_soon(stream.abort)
        else:
            self._links[connection] = link
            self._look_at_the_clock()
        return link

    def _accept_secured(self, context: NewContext, below: Stream) -> Receiver:
        """It counts from now on, and has to be done with TLS by the time that it should greet."""
        link = self._accept(below)
        connection = link.connection
        if connection is None:
            return link

        def on_secured(stream: TlsStream) -> Receiver:
            if stream.certificate is not None:
                try:
                    self.core.named(connection, name_of(stream.certificate))
                except MalformedCertificate as error:
                    raise ssl.SSLError(str(error)) from None
            return link

        link.stream = tls = TlsStream(
            below,
            TlsEnd(context(), self._room, is_server=True),
            on_secured=on_secured,
            on_failed=link.closed,
        )
        return tls

    def forget(self, connection: Connection) -> None:
        """A stream is over."""
        self.core.closed(connection)
        del self._links[connection]
        self.act()

    async def _write(self, tasks: asyncio.TaskGroup) -> None:
        """Group commit: what came while the last one was under way makes the next one."""
        while True:
            await self._written.wait()
            self._written.clear()
            entries, self._entries = self._entries, []
            self._look_at_the_clock()
            self._note_growth(entries)
            state = self._view()
            if entries:
                assert entries[-1].zxid == self.core.database.zxid, "what was decided was taken"
                await self._doors.journal.append(entries)
                self.core.durable(entries[-1].zxid, self.moment())
                self.act()
            if state is not None:
                self._since_snapshot = (0, 0)
                self._snapshot = tasks.create_task(self._keep(state))
                self._snapshot.add_done_callback(lambda _: self._written.set())

    def _counted(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """What the journal has already, one by one."""
        for entry in entries:
            self._note_growth((entry,))
            yield entry

    def _note_growth(self, entries: Sequence[Entry]) -> None:
        count, size = self._since_snapshot
        size += sum([len(entry.data) for entry in entries])
        self._since_snapshot = (count + len(entries), size)

    def _is_long(self, part: int = 1) -> bool:
        """Whether the journal has grown by a part of what it may grow between snapshots."""
        count, size = self._since_snapshot
        settings = self._settings
        return count * part >= settings.snapshot_entries or size * part >= settings.snapshot_bytes

    def _view(self) -> snapshot.State | None:
        """What a snapshot is to hold, if it is time for one and none is under way."""
        if not self._is_long() or (self._snapshot is not None and not self._snapshot.done()):
            return None
        return self.core.database.state()

    async def _keep(self, state: snapshot.State) -> None:
        """A snapshot that fails costs nothing but room: the entries are all there still."""
        count = len(state.nodes)
        try:
            await self._doors.journal.snapshot(state.zxid, snapshot.encode(state))
        except OSError as error:
            log.warning("zookeeper.snapshot_failed", zxid=state.zxid, error=str(error))
        else:
            log.info("zookeeper.snapshot_taken", zxid=state.zxid, nodes=count)

    async def _shorten(self) -> None:
        """Nothing is decided any more. What was not answered may become durable, as ever."""
        was_cut_off = self._snapshot is not None and self._snapshot.cancelled()
        if was_cut_off or self._is_long(SHORT):
            await self._keep(self.core.database.state())

    async def _tick(self) -> None:
        while True:
            now = self.moment()
            due = self.core.next_tick()
            if due is not None and due <= now.monotonic:
                self.core.tick(now)
                self.act()
                continue
            self._awake_at = Millis(min(due or now.monotonic + IDLE, now.monotonic + IDLE))
            self._hurry.clear()
            await self._sleep()

    async def _sleep(self) -> None:
        """Until the next tick, or until there is an earlier one."""
        async with asyncio.TaskGroup() as tasks:
            sleeping = tasks.create_task(self._doors.clock.sleep_until(self._awake_at))
            waking = tasks.create_task(self._hurry.wait())
            sleeping.add_done_callback(lambda _: waking.cancel())
            waking.add_done_callback(lambda _: sleeping.cancel())

    def _look_at_the_clock(self) -> None:
        """Something new may be due before the moment for which the ticker sleeps."""
        due = self.core.next_tick()
        if due is not None and due < self._awake_at:
            self._hurry.set()


class Link:
    """The server's end of one stream. Without a connection it is one too many, and is ended."""

    __slots__ = ("_server", "connection", "stream")

    def __init__(
        self, server: ZookeeperServer, stream: Stream, connection: Connection | None
    ) -> None:
        self.stream = stream
        self._server = server
        self.connection = connection

    def buffer(self) -> memoryview:
        """The scratch that all share."""
        return self._server.scratch

    def received(self, count: int) -> None:
        """Bytes of a client."""
        connection, server = self.connection, self._server
        if connection is None:
            return
        try:
            server.core.received(connection, server.scratch[:count], server.moment())
            server.act()
        except Exception as mistake:  # noqa: BLE001 - it ends the server, which raises it
            server.stumble(mistake)

    def drained(self) -> None:
        """The client has read everything."""
        if self.connection is None:
            return
        try:
            self._server.core.sent(self.connection, 0)
            self._server.act()
        except Exception as mistake:  # noqa: BLE001 - likewise
            self._server.stumble(mistake)

    def closed(self, error: OSError | None) -> None:
        """The client is gone; how does not matter."""
        del error
        if self.connection is not None:
            self._server.forget(self.connection)

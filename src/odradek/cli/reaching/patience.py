"""A cluster that says for what it waits: no user looks at a silent terminal and has to guess.

Each conversation step (a connection, a request, a series of attempts) is noted while it lasts.
What has lasted for two seconds is written to stderr, once; when the time is up the same sentence
says what it was that did not come.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Final, TypeVar, cast

import click

from odradek.cli.words.failing import Failed
from odradek.cli.words.options import TIMEOUT_SECONDS
from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.model import admin_operations
from odradek.model.access import Operation
from odradek.model.errors import BrokerError
from odradek.model.units import Millis
from odradek.peers.errors import (
    ClosedByPeer,
    ConnectionGone,
    MalformedAnswer,
    TimedOut,
    TlsFailed,
)
from odradek.ports import Address
from odradek.wire.apis import APIS
from odradek.wire.schema import Request

T = TypeVar("T")

CHANGES: Final = frozenset(
    {
        "Produce",
        "OffsetCommit",
        "CreateTopics",
        "DeleteTopics",
        "DeleteRecords",
        "WriteTxnMarkers",
        "CreateAcls",
        "DeleteAcls",
        "AlterConfigs",
        "AlterReplicaLogDirs",
        "CreatePartitions",
        "DeleteGroups",
        "ElectLeaders",
        "IncrementalAlterConfigs",
        "AlterPartitionReassignments",
        "OffsetDelete",
        "AlterClientQuotas",
        "AlterUserScramCredentials",
        "UpdateFeatures",
        *(
            it.name
            for it in vars(admin_operations).values()
            if isinstance(it, admin_operations.AdminOperation)
            and it.permission is not Operation.DESCRIBE
        ),
    }
)
"""Requests after which something is otherwise, if they are carried out; ours by their operation."""
SILENT_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 0.5


class Waits:
    """What is being waited for, oldest first."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._numbers = count()
        self._open: dict[int, tuple[float, str]] = {}
        self._said: set[str] = set()
        self._given_up = ""  # what was waited for when the time was up
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def waiting(self, what: str) -> Iterator[Callable[[str], None]]:
        """While it lasts; the function that it gives tells more precisely what it is."""
        number = next(self._numbers)
        began = asyncio.get_running_loop().time()
        self._open[number] = (began, what)

        def precisely(text: str) -> None:
            self._open[number] = (began, text)

        try:
            yield precisely
        except asyncio.CancelledError:
            self._given_up = self._given_up or self.text()
            raise
        finally:
            del self._open[number]

    def text(self) -> str:
        """The innermost of what has lasted long: the step that holds the others up."""
        if self._given_up:
            return self._given_up
        now = asyncio.get_running_loop().time()
        long = [what for began, what in self._open.values() if now - began >= SILENT_SECONDS]
        every = [what for _, what in self._open.values()]
        return next((what for what in reversed(long or every) if what), "")

    def look(self) -> None:
        """Twice a second, for as long as the loop runs."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if any(what and now - began >= SILENT_SECONDS for began, what in self._open.values()):
            text = self.text()
            if text and text not in self._said:
                self._said.add(text)
                click.echo(f"odradek: {text}, for {self._seconds:g} s at most", err=True)
        self._timer = loop.call_later(LOOK_SECONDS, self.look)

    def close(self) -> None:
        """The conversation is over."""
        if self._timer is not None:
            self._timer.cancel()


class Asking:
    """A connection whose requests are noted; everything else is the connection's.

    No answer is waited for longer than a user wants to wait: a broker that hangs keeps its
    connections open.
    """

    def __init__(self, connection: Connection, cluster: "PatientCluster", address: Address) -> None:
        self._connection = connection
        self._cluster = cluster
        self._address = address
        self._was_answered = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def ask(
        self, request: Request, version: int | None = None, *, at_most: int | None = None
    ) -> Any:
        """Requests that a broker is to keep for a while are no wait."""
        kept = getattr(request, "max_wait_ms", 0) or getattr(request, "rebalance_timeout_ms", 0)
        who, name = self._cluster.named(self._address), APIS[request.KEY].name
        what = "" if kept else f"waiting for {who} to answer {name}"
        is_short = self._cluster.seconds < TIMEOUT_SECONDS  # otherwise the connection's own counts
        limit = asyncio.timeout(self._cluster.seconds + kept / 1_000 if is_short else None)
        asked_for = getattr(request, "operation", name)
        if asked_for in CHANGES:
            self._cluster.unanswered = asked_for
        try:
            with self._cluster.waits.waiting(what):
                async with limit:
                    answer = await self._connection.ask(request, version, at_most=at_most)
        except TimeoutError:
            if not limit.expired():
                raise
            self._connection.close()  # answers come in order: the next would wait behind this
            text = f"{who} has not answered {name} within {self._cluster.seconds:g} s"
            raise TimedOut(text) from None
        except ClosedByPeer:
            if not self._was_answered and self._cluster.is_plain:
                await _refuse_without_login(self._address)
            raise
        self._was_answered = True
        if asked_for in CHANGES:
            self._cluster.unanswered = ""
        return answer


class PatientCluster(Cluster):
    """Waits as long as `--timeout` says and tells for what."""

    waits: Waits
    seconds: float
    in_tls = False
    is_plain = True  # neither TLS nor a login
    unanswered = ""  # a change that was asked for, while nothing says what became of it

    @property
    def doubt(self) -> str:
        """What is to be said of it where nothing more is heard."""
        if not self.unanswered:
            return ""
        return f"; {self.unanswered} was sent, and may have been or may still be carried out"

    def named(self, address: Address) -> str:
        """A broker by its number where that is known."""
        host = f"[{address[0]}]" if ":" in address[0] else address[0]
        number = next((it for it, found in self.brokers.items() if found.address == address), None)
        return f"{host}:{address[1]}" + ("" if number is None else f" (broker {number})")

    async def any(self) -> Connection:
        """One that is silent holds up nothing where another answers."""
        addresses = dict.fromkeys((*(it.address for it in self.brokers.values()), *self._bootstrap))
        for address in addresses:
            if (found := self._connections.get(address)) is not None and found.is_open:
                return await self.connection(address)
        for address in addresses if len(addresses) > 1 else ():
            with suppress(ConnectionGone, TimeoutError, Failed):
                async with asyncio.timeout(SILENT_SECONDS):
                    return await self.connection(address)
        return await super().any()

    async def connection(self, address: Address) -> Connection:
        """Where a server speaks another protocol, it is recognised."""
        who = self.named(address)
        limit = asyncio.timeout(self.seconds)
        try:
            with self.waits.waiting(f"waiting for {who} to speak Kafka's protocol"):
                async with limit:
                    found = await self._recognising(address)
        except TimeoutError:
            if not limit.expired():
                raise
            raise TimedOut(f"{who} has not answered within {self.seconds:g} s") from None
        return cast(Connection, Asking(found, self, address))

    async def _recognising(self, address: Address) -> Connection:
        """A broker that is silent is waited for: it may be starting."""
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                return await super().connection(address)
        except (ClosedByPeer, MalformedAnswer, TlsFailed):
            await _refuse_wrong_port(address, in_tls=self.in_tls)
            raise
        except TimeoutError:
            await _refuse_wrong_port(address, in_tls=self.in_tls)
        return await super().connection(address)

    async def patiently(
        self,
        attempt: Callable[[], Awaitable[T]],
        patience: Millis = Millis(0),  # noqa: ARG002 - the command's own counts
    ) -> T:
        """As long as the command's own time lasts, however long the caller would try."""
        with self.waits.waiting("") as precisely:

            async def noted() -> T:
                try:
                    return await attempt()
                except BrokerError as error:
                    if error.code.retriable:
                        precisely(f"trying again: {error}")
                    raise

            return await super().patiently(noted, Millis(int(self.seconds * 1_000)))


async def _refuse_wrong_port(address: Address, *, in_tls: bool) -> None:
    from odradek.cli.reaching.wrong_port import wrong_port

    if (found := await wrong_port(address, in_tls=in_tls)) is not None:
        raise found


async def _refuse_without_login(address: Address) -> None:
    from odradek.cli.reaching.wrong_port import wants_login

    if (found := await wants_login(address)) is not None:
        raise found

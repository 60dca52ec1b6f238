"""What clients do in the ZooKeeper world, and how they tell of it.

Each operation is two events: `zk.ask` when it begins, and one of four when it is over. An answer
carries facts, each what it showed of one node; a failure was not done; an unknown one may have
been; a lost one was not sent. A conditional write is preceded by `zk.names`: its number, and the
version that it names. Events of watches and turns of the session are told as they come.

All written values are different, so that a value tells who wrote it. Some nodes are shared by
everybody, some belong to one client, two change only together, and ephemeral ones have an owner.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from itertools import count
from typing import Final, NamedTuple

from odradek.ensemble.client import News, ZooKeeperClient
from odradek.model.units import Millis
from odradek.ports import Address
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.zookeeper.client.address import Ensemble
from odradek.zookeeper.client.errors import (
    NeverSent,
    NoNode,
    OperationError,
    OutcomeUnknown,
    SessionClosed,
    SessionExpired,
)
from odradek.zookeeper.client.session import Session, SessionSettings, WatchEvent
from odradek.zookeeper.client.states import Status
from odradek.zookeeper.protocol.codes import ANY_VERSION, CreateMode, KeeperError
from odradek.zookeeper.protocol.jute import Stat
from odradek.zookeeper.protocol.jute_replies import Data, Results, StatReply
from odradek.zookeeper.protocol.jute_requests import Check, GetData, MultiRead, SetData, WriteOp

SHARED: Final = tuple(f"/shared/{number}" for number in range(6))
PAIR: Final = ("/pair/a", "/pair/b")
PARENTS: Final = ("/shared", "/pair", "/own", "/live", "/queue")
WORKERS: Final = 3  # of one client, at the same time
PAUSE_MILLIS_MAX: Final = 900  # between two operations of one worker
STAY_MILLIS_MAX: Final = 60_000  # in one session
GONE: Final = -1
ENDED: Final = "closed by its owner"  # the server has said so
ABANDONED: Final = "ABANDONED"  # the client has left, and the server may not know it yet


class Fact(NamedTuple):
    """What an answer showed of one node; a czxid of `GONE` says that there is none."""

    path: str
    czxid: int = GONE
    mzxid: int = GONE
    version: int = GONE
    owner: int = 0
    pzxid: int = GONE
    value: bytes | None = None  # None: it did not show that


class Visitor:
    """One client, for one life of its machine."""

    def __init__(
        self, world: World, machine: Machine, server: Address, numbers: "count[int]"
    ) -> None:
        self._note, self._machine, self._numbers = world.history.note, machine, numbers
        self._chance = machine.random.stream(str(machine.lives))
        self._server = server
        self._timeout = Millis(1_000 * self._chance.between(2, 6))
        self._session_id = 0  # the last that was confirmed: when it is over, no other says which
        self._leaves = False  # the server was asked to end it
        self._over = asyncio.Event()  # the session is, and another is wanted
        self._client = self._new_client()

    def _new_client(self) -> ZooKeeperClient:
        machine, settings = self._machine, SessionSettings(self._timeout)
        session = Session(Ensemble((self._server,), ""), machine.random, settings)
        return ZooKeeperClient(session, machine.network, machine.clock, self._heard)

    async def run(self) -> None:
        """Until the machine ends."""
        async with asyncio.TaskGroup() as tasks:
            _ = tasks.create_task(self._keep_a_session(tasks))
            await self._make_parents()
            for _ in range(WORKERS):
                _ = tasks.create_task(self._work())
            _ = tasks.create_task(self._leave_at_times())

    async def _keep_a_session(self, tasks: asyncio.TaskGroup) -> None:
        """One after the other; a client that was closed is no more."""
        while True:
            if self._client.status is Status.CLOSED:
                self._client = self._new_client()
            self._over.clear()
            if self._client.status is Status.DISCONNECTED:
                _ = tasks.create_task(self._client.run())
            self._client.begin()
            await self._over.wait()

    async def _leave_at_times(self) -> None:
        """Closes the session, whatever is under way in it."""
        while True:
            millis = self._chance.below(STAY_MILLIS_MAX)
            await self._machine.clock.sleep_until(Millis(self._machine.clock.monotonic() + millis))
            if self._client.status is Status.CONNECTED:
                self._leaves = True
                await self._client.close()

    def _heard(self, news: News) -> None:
        if isinstance(news, WatchEvent):
            self._tell("zk.event", self._session_id, news.kind.name, news.path)
            return
        if news.status is Status.CONNECTED:
            self._session_id, self._leaves = self._client.session_id, False
        what = news.status.name
        if news.status is Status.CLOSED and not (self._leaves and news.reason == ENDED):
            what = ABANDONED
        self._tell("zk.session", self._session_id, what)
        if news.status in {Status.EXPIRED, Status.CLOSED}:
            self._over.set()

    def _tell(self, what: str, *details: object) -> None:
        self._note(self._machine.name, what, *details)

    async def _make_parents(self) -> None:
        for path in (*PARENTS, *PAIR, self._own):
            while not await self._ask("create", path, self._create(path)):
                await self._pause()

    async def _work(self) -> None:
        while True:
            await self._pause()
            kind = KINDS[self._chance.below(len(KINDS))]
            await kind(self)

    async def _pause(self) -> None:
        millis = self._chance.below(PAUSE_MILLIS_MAX)
        await self._machine.clock.sleep_until(Millis(self._machine.clock.monotonic() + millis))

    # -- one operation -------------------------------------------------------------------------

    async def _ask(
        self,
        kind: str,
        path: str,
        operation: Callable[[bytes], Awaitable[Sequence[Fact]]],
    ) -> Sequence[Fact]:
        """Asks and tells; the facts, or none. A node that exists already is fine, too."""
        number = next(self._numbers)
        value = f"{number}".encode()
        self._tell("zk.ask", number, kind, path)
        try:
            facts = await operation(value)
        except NeverSent:
            self._tell("zk.lost", number)
        except (OutcomeUnknown, SessionExpired, SessionClosed) as error:
            self._tell("zk.unknown", number, type(error).__name__)
        except KeeperError as error:
            name = type(error).__name__
            self._tell("zk.failed", number, self._client.session_id, name)
            return (Fact(path),) if name == "NodeExists" else ()
        else:
            self._tell("zk.answered", number, self._client.session_id, *facts)
            return facts
        return ()

    def _create(
        self, path: str, mode: CreateMode = CreateMode.PERSISTENT
    ) -> Callable[[bytes], Awaitable[Sequence[Fact]]]:
        async def create(value: bytes) -> Sequence[Fact]:
            made = await self._client.create(path, value, mode=mode)
            return (_fact(made.path, made.stat, value),)

        return create

    def _set(self, path: str, version: int) -> Callable[[bytes], Awaitable[Sequence[Fact]]]:
        async def put(value: bytes) -> Sequence[Fact]:
            if version != ANY_VERSION:
                self._tell("zk.names", int(value), version)
            stat = await self._client.set(path, value, version)
            return (_fact(path, stat, value),)

        return put

    def _get(self, path: str, *, watch: bool) -> Callable[[bytes], Awaitable[Sequence[Fact]]]:
        async def get(_: bytes) -> Sequence[Fact]:
            try:
                data = await self._client.get(path, watch=watch)
            except NoNode:
                return (Fact(path),)
            return (_fact(path, data.stat, data.data),)

        return get

    # -- kinds of work -------------------------------------------------------------------------

    @property
    def _own(self) -> str:
        return f"/own/{self._machine.name}"

    def _shared(self) -> str:
        return SHARED[self._chance.below(len(SHARED))]

    async def look(self) -> None:
        """Reads a shared node, and sometimes asks to be told when it changes."""
        path, watch = self._shared(), not self._chance.below(2)
        await self._ask("get+watch" if watch else "get", path, self._get(path, watch=watch))

    async def look_for(self) -> None:
        """Asks whether a shared node is there, and to be told when that changes."""
        path = self._shared()

        async def exists(_: bytes) -> Sequence[Fact]:
            stat = await self._client.exists(path, watch=True)
            return (Fact(path) if stat is None else _fact(path, stat, None),)

        await self._ask("exists+watch", path, exists)

    async def list_live(self) -> None:
        """Reads who is there, with a watch on the list, and looks at one of them."""

        async def children(_: bytes) -> Sequence[Fact]:
            listed = await self._client.children("/live", watch=True)
            names.extend(sorted(listed.names))
            return (_fact("/live", listed.stat, None),)

        names: list[str] = []
        await self._ask("children+watch", "/live", children)
        if names:
            path = "/live/" + names[self._chance.below(len(names))]
            await self._ask("get", path, self._get(path, watch=False))

    async def make(self) -> None:
        """Makes a shared node."""
        path = self._shared()
        await self._ask("create", path, self._create(path))

    async def change(self) -> None:
        """Reads a shared node, then writes it if it is still the same."""
        path = self._shared()
        facts = await self._ask("get", path, self._get(path, watch=False))
        if facts and facts[0].czxid != GONE:
            await self._ask("set", path, self._set(path, facts[0].version))

    async def swap(self) -> None:
        """Reads a shared node, then checks in a multi that it is the same, and writes it."""
        path = self._shared()
        facts = await self._ask("get", path, self._get(path, watch=False))
        if not facts or facts[0].czxid == GONE:
            return
        version = facts[0].version

        async def put(value: bytes) -> Sequence[Fact]:
            self._tell("zk.names", int(value), version)
            writes: list[WriteOp] = [Check(path, version), SetData(path, value)]
            _, result = await self._client.multi(writes)
            assert isinstance(result, StatReply), result
            return (_fact(path, result.stat, value),)

        await self._ask("set", path, put)

    async def overwrite(self) -> None:
        """Writes a shared node, whatever it is."""
        path = self._shared()
        await self._ask("set", path, self._set(path, ANY_VERSION))

    async def remove(self) -> None:
        """Deletes a shared node."""
        path = self._shared()

        async def delete(_: bytes) -> Sequence[Fact]:
            await self._client.delete(path)
            return (Fact(path),)

        await self._ask("delete", path, delete)

    async def change_own(self) -> None:
        """Several writes in one batch to a node that it alone writes; they keep their order."""

        async def put(value: bytes) -> Sequence[Fact]:
            values = [b"%b.%d" % (value, part) for part in range(1 + self._chance.below(4))]
            answers = await self._client.batch([SetData(self._own, each) for each in values])
            facts: list[Fact] = []
            for each, answer in zip(values, answers, strict=True):
                if isinstance(answer, OperationError):
                    raise answer
                assert isinstance(answer, StatReply), answer
                facts.append(_fact(self._own, answer.stat, each))
            return facts

        await self._ask("set", self._own, put)
        await self._ask("get", self._own, self._get(self._own, watch=False))

    async def change_pair(self) -> None:
        """Writes two nodes in one multi."""

        async def put(value: bytes) -> Sequence[Fact]:
            check = Check(self._own)
            writes = [SetData(path, value) for path in PAIR]
            _, *results = await self._client.multi([check, *writes])
            facts: list[Fact] = []
            for path, result in zip(PAIR, results, strict=True):
                assert isinstance(result, StatReply), result
                facts.append(_fact(path, result.stat, value))
            return facts

        await self._ask("pair", PAIR[0], put)

    async def look_at_pair(self) -> None:
        """Reads two nodes at one moment."""

        async def get(_: bytes) -> Sequence[Fact]:
            (answer,) = await self._client.batch([MultiRead(tuple(map(GetData, PAIR)))])
            if isinstance(answer, OperationError):
                raise answer
            assert isinstance(answer, Results), answer
            facts: list[Fact] = []
            for path, result in zip(PAIR, answer.results, strict=True):
                assert isinstance(result, Data), result
                facts.append(_fact(path, result.stat, result.data))
            return facts

        await self._ask("get-pair", PAIR[0], get)

    async def live(self) -> None:
        """Makes an ephemeral node, and looks after a while whether it is there."""
        path = f"/live/{self._machine.name}-{next(self._numbers)}"
        if await self._ask("create", path, self._create(path, CreateMode.EPHEMERAL)):
            await self._pause()
            await self._ask("get", path, self._get(path, watch=False))

    async def queue(self) -> None:
        """Makes a sequential node."""
        create = self._create("/queue/item-", CreateMode.PERSISTENT_SEQUENTIAL)
        await self._ask("create", "/queue/item-", create)


KINDS: Final = (
    Visitor.look,
    Visitor.look,
    Visitor.look_for,
    Visitor.list_live,
    Visitor.make,
    Visitor.change,
    Visitor.change,
    Visitor.swap,
    Visitor.overwrite,
    Visitor.remove,
    Visitor.change_own,
    Visitor.change_pair,
    Visitor.look_at_pair,
    Visitor.live,
    Visitor.queue,
)


def _fact(path: str, stat: Stat, value: bytes | None) -> Fact:
    return Fact(path, stat.czxid, stat.mzxid, stat.version, stat.ephemeral_owner, stat.pzxid, value)

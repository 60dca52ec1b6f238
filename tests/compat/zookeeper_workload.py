"""Clients that write, read and watch a few nodes while their connections are cut."""

import asyncio
from contextlib import AsyncExitStack
from functools import partial
from random import Random

from odradek.ensemble.client import News
from odradek.zookeeper.client.errors import BadVersion, ConnectionLost, MultiFailed, NeverSent
from odradek.zookeeper.client.pipeline import Answer
from odradek.zookeeper.client.session import WatchEvent
from odradek.zookeeper.protocol.codes import ANY_VERSION
from odradek.zookeeper.protocol.jute_replies import Data, Results, StatReply
from odradek.zookeeper.protocol.jute_requests import GetData, Multi, SetData
from tests.compat.zookeeper_arena import Arena
from tests.compat.zookeeper_drivers import OurDriver
from tests.compat.zookeeper_histories import History, Read, Write
from tests.compat.zookeeper_proxy import Proxy

CLIENTS = 4
WORKERS = 3
OPERATIONS = 100
FAULTS_MAX = 80  # clients that are cut all the time spend theirs waiting for the next try
PATHS = ("/a", "/b", "/c")


class Workload:
    """One run. The seed decides what is tried; the machine decides what meets what."""

    def __init__(self, seed: int) -> None:
        self.history = History()
        self.faults = 0
        self.unknown = 0
        self._random = Random(seed)
        self._written = 0
        self._versions = dict.fromkeys(PATHS, 0)  # as somebody has seen them last
        self._busy = CLIENTS * WORKERS

    async def run(self, arena: Arena) -> None:
        """From nodes of version 0 to a last look at all of them."""
        async with AsyncExitStack() as stack:
            calm = await stack.enter_async_context(arena.ours())
            for path in PATHS:
                await calm.create(path)
            proxies = [await stack.enter_async_context(arena.proxy()) for _ in range(CLIENTS)]
            clients = [
                await stack.enter_async_context(arena.ours(at=proxy.address)) for proxy in proxies
            ]
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._disturb(proxies, calm))
                for number, client in enumerate(clients):
                    client.tell = partial(self._heard, number)
                    for _ in range(WORKERS):
                        tasks.create_task(self._work(number, client))
            for path in PATHS:
                await self._read(CLIENTS, calm, path)

    async def _work(self, number: int, client: OurDriver) -> None:
        """One thing after the other; the client's other workers do the same meanwhile."""
        try:
            for _ in range(OPERATIONS):
                paths = self._random.sample(PATHS, k=self._random.choice((1, 1, 2)))
                if self._random.random() < 0.5:
                    await self._read(number, client, paths[0])
                else:
                    await self._write(number, client, paths)
        finally:
            self._busy -= 1

    async def _read(self, number: int, client: OurDriver, path: str) -> None:
        watch = self._random.random() < 0.3
        began = self.history.now()
        (answer,) = await client.client.batch([GetData(path, watch)])
        if isinstance(answer, Data):
            assert answer.data is not None
            ended = self.history.now()
            self.history.read(
                Read(number, path, began, ended, answer.data, answer.stat, watch=watch)
            )
            self._versions[path] = answer.stat.version
        else:
            assert isinstance(answer, ConnectionLost), answer

    async def _write(self, number: int, client: OurDriver, paths: list[str]) -> None:
        conditional = self._random.random() < 0.6
        self._written += 1
        data = dict.fromkeys(paths, b"%d" % self._written)
        versions = {path: self._versions[path] if conditional else ANY_VERSION for path in paths}
        sets = tuple(SetData(path, data[path], versions[path]) for path in paths)
        write = self.history.begin(number, data, versions)
        waits = self._random.random() < 0.8
        request = sets[0] if len(sets) == 1 else Multi(sets)
        (answer,) = await client.client.batch([request], waits=waits)
        self._ended(write, answer)

    def _ended(self, write: Write, answer: Answer) -> None:
        match answer:
            case StatReply(stat):
                self.history.end(write, dict.fromkeys(write.data, stat))
            case Results(results):
                stats = [result.stat for result in results if isinstance(result, StatReply)]
                self.history.end(write, dict(zip(write.data, stats, strict=True)))
            case _:
                unknown = isinstance(answer, ConnectionLost) and not isinstance(answer, NeverSent)
                assert isinstance(answer, (ConnectionLost, BadVersion, MultiFailed)), answer
                self.unknown += unknown
                self.history.end(write, None, refused=not unknown)

    def _heard(self, number: int, news: News) -> None:
        if isinstance(news, WatchEvent):
            self.history.heard(number, news.path)

    async def _disturb(self, proxies: list[Proxy], calm: OurDriver) -> None:
        """Cuts wires, swallows answers first, or keeps a client away for a while."""
        while self._busy and self.faults < FAULTS_MAX:
            proxy = self._random.choice(proxies)
            await self._pause(calm)
            match self._random.choice(("cut", "deaf", "deaf", "away")):
                case "deaf":
                    proxy.deaf = True
                    await self._pause(calm)
                    proxy.deaf = False
                    proxy.cut()
                case "away":
                    proxy.refusing = True
                    proxy.cut()
                    await self._pause(calm)
                    proxy.refusing = False
                case _:
                    proxy.cut()
            self.faults += 1

    async def _pause(self, calm: OurDriver) -> None:
        """As long as a few requests take."""
        for _ in range(self._random.randint(1, 20)):
            await calm.sync("/")

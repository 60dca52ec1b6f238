"""One broker on the simulator, with its own ZooKeeper and two log dirs, and clients of it.

with Stage() as stage:
    client = stage.client()
    stage.make("orders", partitions=2)
    answer = client.ask(MetadataRequest(topics=None))
"""

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, Self, cast

from odradek.broker.broker import Broker
from odradek.broker.doors import Dir, Doors
from odradek.config.broker import BrokerConfig, Layers, read
from odradek.config.findings import Given
from odradek.model.errors import ErrorCode
from odradek.ports import Journal, Stream
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.sim.doors.journal import Ledger, SimulatedJournal
from odradek.sim.doors.worker import SimulatedWorker
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.wire.apis import APIS
from odradek.wire.framing import Framer, Scratch
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from odradek.wire.schema import Request

PORT = 9092
NAMED_TOPICS_UNTIL = 12
"""The last version of a fetch that has the names of topics: tests know no ids."""


class Stage:
    """A broker through its lives, and the world around it."""

    def __init__(self, seed: int = 1, **settings: str) -> None:
        self.world = World(seed)
        self.machine = self.world.machine("broker")
        self.clients = self.world.machine("clients")
        self.broker: Broker | None = None  # of this life
        self.lines = KeptLines()  # of the audit log, if one is configured
        self._settings = settings
        self._ledger = Ledger()

    def __enter__(self) -> Self:
        self.world.__enter__()
        self.clients.start(_for_ever)
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.world.__exit__(None, None, None)

    # The broker's lives

    def start(self) -> None:
        """A life, until it accepts traffic."""
        self.machine.start(self._live)
        for _ in range(200):
            self.world.run(millis=100)
            if self.broker is not None and self.broker.is_ready:
                return
        raise AssertionError("the broker has not started")

    @contextmanager
    def settings(self, **other: str) -> Iterator[None]:
        """Of the lives that begin meanwhile."""
        before, self._settings = self._settings, {**self._settings, **other}
        try:
            yield
        finally:
            self._settings = before

    def stop(self) -> None:
        """In good order."""
        assert self.broker is not None
        self.broker.stop()
        for _ in range(200):
            self.world.run(millis=100)
            if not self.machine.running:
                return
        raise AssertionError("the broker has not stopped")

    def kill(self) -> None:
        """At once; what was written stays."""
        self.machine.kill()
        self.broker = None

    def cut_power(self) -> None:
        """What was not synced may be gone."""
        self.machine.cut_power()
        self.broker = None

    def run(self, seconds: float) -> None:
        """Time passes."""
        self.world.run(seconds=seconds)

    @property
    def running(self) -> Broker:
        """The broker of this life."""
        assert self.broker is not None
        return self.broker

    async def _live(self, machine: Machine) -> None:
        workers = {name: SimulatedWorker() for name in ("disk-a", "disk-b")}
        dirs = tuple(
            Dir(machine.disk(name), worker, SimulatedWorker(worker))
            for name, worker in workers.items()
        )
        journal = SimulatedJournal(self._ledger, machine.clock, machine.random.stream("journal"))
        doors = Doors(
            machine.clock, machine.random, machine.network, dirs, "broker", lambda: _door(journal)
        )._replace(add_lines=lambda _: self.lines)
        self.broker = Broker(self._config(), doors)
        await self.broker.serve(lambda: None)

    def _config(self) -> BrokerConfig:
        said = {
            "broker.id": "1",
            "listeners": f"PLAINTEXT://broker:{PORT}",
            "log.dirs": "disk-a,disk-b",
            "offsets.topic.num.partitions": "3",
            "offsets.topic.replication.factor": "1",
            "group.initial.rebalance.delay.ms": "0",
            **{name.replace("_", "."): value for name, value in self._settings.items()},
        }
        config, findings = read(
            Layers(static={name: Given(it, "here") for name, it in said.items()})
        )
        assert not findings, findings
        return config

    # Clients

    def client(self, name: str = "somebody") -> "Client":
        """A new connection."""
        return Client(self, name)

    def make(self, name: str, partitions: int = 1, **settings: str) -> None:
        """A topic."""
        configs = [
            CreatableTopicConfig(key.replace("_", "."), value) for key, value in settings.items()
        ]
        topic = CreatableTopic(name, partitions, 1, configs=configs)
        client = self.client()
        (made,) = client.ask(CreateTopicsRequest(topics=[topic])).topics
        assert made.error_code == ErrorCode.NONE, made
        client.hang_up()


def _door(journal: SimulatedJournal) -> Journal:
    return journal


async def _for_ever(machine: Machine) -> None:
    del machine
    await asyncio.get_running_loop().create_future()


class KeptLines:
    """In memory."""

    def __init__(self) -> None:
        self.kept: list[str] = []

    def write(self, line: str) -> None:
        """Behind the others."""
        self.kept.append(line)

    def close(self) -> None:
        """They stay."""


class Client:
    """One connection: sends whole requests, and keeps what comes back."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.name = name
        self.is_closed = False
        self._framer = Framer(Scratch())
        self._frames: dict[int, bytearray] = {}
        self._sent: dict[int, tuple[type[Any], int]] = {}
        self._number = 0
        self._stream = cast("Stream", self._do(self._connect()))

    # What a test says

    def ask(self, request: Request, version: int | None = None, *, seconds: float = 60) -> Any:
        """Sends it, and waits for the answer."""
        return self.answer_to(self.send(request, version), seconds=seconds)

    def send(self, request: Request, version: int | None = None) -> int:
        """Sends it; the number under which its answer will come."""
        api = APIS[request.KEY]
        version = self._newest(request.KEY) if version is None else version
        self._number += 1
        self._sent[self._number] = (api.response, version)
        self.send_raw(
            b"".join(cast("list[bytes]", request_frame(request, version, self._number, self.name)))
        )
        return self._number

    def send_raw(self, data: bytes) -> None:
        """Whatever it is."""

        async def send() -> None:
            self._stream.send([data])

        self._do(send())

    def answer_to(self, number: int, *, seconds: float = 60) -> Any:
        """The answer, which must come in time."""
        response, version = self._sent[number]
        for _ in range(int(seconds * 200)):
            if number in self._frames:
                return read_response(response, version, self._frames.pop(number))[1]
            assert not self.is_closed, "the broker has hung up"
            self.stage.world.run(millis=5)
        raise AssertionError("there is no answer")

    def has_answer(self, number: int) -> bool:
        """Whether it is there already."""
        return number in self._frames

    def hang_up(self) -> None:
        """Goes away."""

        async def close() -> None:
            self._stream.close()

        self._do(close())

    # Producing and fetching, in short

    def produce(
        self,
        topic: str,
        *values: str,
        partition: int = 0,
        acks: int = -1,
        version: int | None = None,
    ) -> PartitionProduceResponse:
        """One batch with these values."""
        records = [Record(at, 1_700_000_000_000, None, it.encode()) for at, it in enumerate(values)]
        batch = build_batch(records)
        return self.produce_batch(topic, batch, partition=partition, acks=acks, version=version)

    def produce_batch(
        self,
        topic: str,
        batch: bytes | bytearray,
        *,
        partition: int = 0,
        acks: int = -1,
        version: int | None = None,
    ) -> PartitionProduceResponse:
        """One batch as it is."""
        data = [PartitionProduceData(partition, batch)]
        request = ProduceRequest(None, acks, 30_000, [TopicProduceData(topic, partition_data=data)])
        answer = self.ask(request, version)
        return cast("PartitionProduceResponse", answer.responses[0].partition_responses[0])

    def fetch(self, topic: str, offset: int, *, partition: int = 0, **how: int) -> PartitionData:
        """What is there from an offset on."""
        answer = self.answer_to(self.send_fetch(topic, offset, partition=partition, **how))
        return cast("PartitionData", answer.responses[0].partitions[0])

    def send_fetch(self, topic: str, offset: int, *, partition: int = 0, **how: int) -> int:
        """Asks, and does not wait."""
        wanted = FetchPartition(partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        return self.send(
            FetchRequest(
                max_wait_ms=how.get("max_wait_ms", 0),
                min_bytes=how.get("min_bytes", 1),
                isolation_level=how.get("isolation_level", 0),
                topics=[FetchTopic(topic, partitions=[wanted])],
            )
        )

    # How it is done

    def _newest(self, key: int) -> int:
        if key == FetchRequest.KEY:
            return NAMED_TOPICS_UNTIL
        offered = {api.key: api for api in self.stage.running.services_of_this_life.offered}
        return offered[key].versions.stop - 1

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.stage.world.ask("clients", work)

    async def _connect(self) -> Stream:
        address = ("broker", PORT)
        return await self.stage.clients.network.connect(address, lambda stream: self)

    def buffer(self) -> memoryview:
        """The stream asks."""
        return self._framer.buffer()

    def received(self, count: int) -> None:
        """Whole frames are kept under their numbers."""
        for frame in self._framer.received(count):
            self._frames[int.from_bytes(frame[:4], "big")] = frame

    def drained(self) -> None:
        """Nobody waits for this."""

    def closed(self, error: OSError | None) -> None:
        """The broker has hung up, or we have."""
        del error
        self.is_closed = True

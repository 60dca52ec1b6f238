"""A Kafka process in a world that the test controls: it hears requests and answers as it is told.

process = KafkaProcess(world, "b1")      # a machine with a port
process.answers[MetadataRequest] = lambda request: MetadataResponse()
"""

import asyncio
from collections.abc import Callable
from typing import Any

from odradek.ports import Receiver, Stream
from odradek.sim.stage.machine import Machine
from odradek.sim.stage.world import World
from odradek.wire.framing import Framer, Scratch
from odradek.wire.headers import read_request, response_frame
from odradek.wire.schema import Request, Response

PORT = 9092


class KafkaProcess:
    """One machine and its process, through its lives."""

    def __init__(self, world: World, name: str) -> None:
        self.machine = world.machine(name)
        self.address = (name, PORT)
        self.answers: dict[type[Request], Callable[[Any], Response]] = {}
        self.heard: list[Request] = []
        self.held: list[Callable[[], None]] = []  # while it is mute: what it would have sent
        self.versions: list[tuple[int, int]] = []  # (key, version) of all that was heard
        self.mute = False
        self.links: list[ServerLink] = []
        self.start()

    def start(self) -> None:
        """A new life."""
        self.machine.start(self._serve)

    async def _serve(self, machine: Machine) -> None:
        await machine.network.listen(self.address, lambda stream: ServerLink(self, stream))
        await asyncio.get_running_loop().create_future()

    def speak(self) -> None:
        """Sends what was held back, and goes on answering."""
        self.mute = False
        held, self.held = self.held, []
        for send in held:
            send()


class ServerLink(Receiver):
    """One connection of it."""

    def __init__(self, process: KafkaProcess, stream: Stream) -> None:
        self.stream = stream
        self._process = process
        self._framer = Framer(Scratch())
        process.links.append(self)

    def buffer(self) -> memoryview:
        """Where the next bytes go."""
        return self._framer.buffer()

    def received(self, count: int) -> None:
        """Requests are noted and answered in their order."""
        for frame in self._framer.received(count):
            header, request = read_request(frame)
            self._process.heard.append(request)
            key, version = header.request_api_key, header.request_api_version
            self._process.versions.append((key, version))
            answer = self._process.answers[type(request).KIND]  # type: ignore[index]
            self._answer(response_frame(answer(request), version, header.correlation_id))

    def _answer(self, frame: Any) -> None:
        if self._process.mute:
            self._process.held.append(lambda: self.stream.send(frame))
        else:
            self.stream.send(frame)

    def drained(self) -> None:
        """Nothing was held back."""

    def closed(self, error: OSError | None) -> None:
        """It is over."""
        self._process.links.remove(self)

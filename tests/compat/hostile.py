"""For tests of what a broker refuses: clients that may say anything, and a neighbour of theirs."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Protocol, Self, cast

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from odradek.wire.apis import APIS
from odradek.wire.headers import read_response, request_frame
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.schema import Request
from tests.compat.broker_process import Broker, eventually
from tests.compat.librdkafka import SECONDS_MAX, create_topic, quiet

ROUNDS_MIN: Final = 20
HELD_UP_SECONDS: Final = 0.2
REPEATS_MAX: Final = 1_000
NEWEST: Final = {0: 9, 1: 12, 8: 9, 9: 9}  # beyond these, topics are named by their ids


class Found(Protocol):
    """Whatever can be connected to."""

    @property
    def bootstrap(self) -> str:
        """Host and port."""
        ...


class Raw:
    """One connection, to the broker's one listener: bytes in, bytes out."""

    def __init__(self, broker: Found, host: str = "", of: str = "") -> None:
        found, _, port = broker.bootstrap.partition(":")
        own = (of, 0) if of else None  # else as the kernel has it
        self.socket = socket.create_connection((host or found, int(port)), SECONDS_MAX, own)
        self._number = 0
        self._versions: dict[int, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Whatever it is; a broker that has hung up meanwhile is no news."""
        try:
            self.socket.sendall(data)
        except ConnectionError:
            return

    def ask(self, request: Request, version: int | None = None) -> Any:
        """A whole request, by default as new as both sides have it, and its answer."""
        if version is None:
            version = self.newest(request.KEY)
        self.send(self.frame(request, version))
        return read_response(APIS[request.KEY].response, version, self.answer())[1]

    def is_held_up(self, data: bytes) -> bool:
        """Says this again and again; whether there comes a moment when nobody listens."""
        self.socket.settimeout(HELD_UP_SECONDS)
        try:
            for _ in range(REPEATS_MAX):
                self.socket.sendall(data)
        except TimeoutError:
            return True
        return False

    def frame(self, request: Request, version: int) -> bytes:
        """What goes over the wire for it."""
        self._number += 1
        chunks = request_frame(request, version, self._number, "somebody")
        return b"".join(cast("list[bytes]", chunks))

    def newest(self, key: int) -> int:
        """The version that both sides know."""
        if not self._versions:
            answer = self.ask(ApiVersionsRequest(), 0)
            self._versions = {row.api_key: row.max_version for row in answer.api_keys}
        ours = NEWEST.get(key, APIS[key].versions[-1])
        return min(self._versions[key], ours)

    def offered(self) -> dict[int, int]:
        """The newest version of each API that the broker offers and we can read."""
        return {
            key: self.newest(key) for key in self._versions or {self.newest(3): 0} if key in APIS
        }

    def answer(self) -> bytes:
        """The next frame, without its length."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def hang_up_half(self) -> None:
        """We have said all that we had to say."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            return

    def is_sent_away(self) -> bool:
        """Whether the broker hangs up, whatever it says before; it is waited for."""
        try:
            while self.socket.recv(65_536):
                pass
        except TimeoutError:
            return False
        except ConnectionError:
            return True
        return True

    def _exactly(self, count: int) -> bytes:
        data = bytearray()
        while len(data) < count:
            chunk = self.socket.recv(count - len(data))
            assert chunk, "the broker has hung up"
            data += chunk
        return bytes(data)


class Neighbour:
    """A producer and a consumer of a topic of their own, who go on from round to round."""

    def __init__(self, broker: Broker) -> None:
        self.rounds = 0
        self.complaints: list[str] = []
        self._topic = create_topic(broker, "neighbourhood")
        self._settings = quiet(broker, error_cb=self._complain)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._live, name="neighbour", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """The round that was begun is finished."""
        self._over.set()
        self._thread.join(2 * SECONDS_MAX)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """All its requests are answered, before, meanwhile and as long as what was done lasts."""
        yield
        enough = self.rounds + ROUNDS_MIN
        eventually(lambda: self.rounds >= enough or self.complaints, what="the neighbour waits")
        assert not self.complaints

    def _live(self) -> None:
        producer = Producer({**self._settings, "linger.ms": 0})
        how = {"group.id": "neighbours", "fetch.wait.max.ms": 10}
        consumer = Consumer({**self._settings, **how})
        consumer.assign([TopicPartition(self._topic, 0, 0)])
        while not self._over.is_set() and not self.complaints:
            self._round(producer, consumer)
        consumer.close()

    def _round(self, producer: Producer, consumer: Consumer) -> None:
        said = b"%d" % self.rounds
        producer.produce(self._topic, said, on_delivery=self._told)
        if producer.flush(SECONDS_MAX):
            self.complaints.append("a record is not acknowledged")
        message = consumer.poll(SECONDS_MAX)
        if message is None or message.error() or message.value() != said:
            self.complaints.append(f"{message and (message.error() or message.value())!r}")
        self.rounds += 1

    def _told(self, error: KafkaError | None, _: object) -> None:
        if error is not None:
            self._complain(error)

    def _complain(self, error: KafkaError) -> None:
        self.complaints.append(str(error))


def resident_bytes(pid: int) -> int:
    """The memory that a process has in use."""
    status = Path(f"/proc/{pid}/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith("VmRSS:")]
    return int(line.split()[1]) * 1024

"""`odradek zookeeper serve` as its users start it, and a blocking client that may misbehave."""

import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from odradek.model.units import MIB
from odradek.ports import Address
from odradek.zookeeper.protocol.jute import Packets, framed
from odradek.zookeeper.protocol.jute_replies import Connected, ReplyHeader, reply_header
from odradek.zookeeper.protocol.jute_requests import Connect, Request, framed_request
from tests.external import tools
from tests.external.zookeeper import die_with_parent

SECONDS_MAX: Final = 30
SESSION: Final = 40_000
REPLY_BYTES_MAX: Final = 4 * MIB


class ZookeeperProcess:
    """One server that keeps its journal in `directory`; what it says stands in `said`.

    It knows its talkers, and closes them when its own life is over.
    """

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self._options = options
        self.address: Address = ("", 0)
        self.said = ""
        self._process: subprocess.Popen[str] | None = None
        self._talkers: list[Talker] = []

    def talker(self, host: str = "", *, greets: bool = True) -> "Talker":
        """Somebody connects, from this address of the machine."""
        talker = Talker(self.address, host)
        self._talkers.append(talker)
        if greets:
            talker.greet()
        return talker

    def start(self, **limits: int) -> int | None:
        """Returns once it listens: None, or how it ended if it did. Limits as in `resource`."""
        ours = {getattr(resource, name): value for name, value in limits.items()}
        command = (sys.executable, "-m", "odradek", "zookeeper", "serve")

        def prepare() -> None:
            die_with_parent()
            for name, value in ours.items():
                resource.setrlimit(name, (value, resource.getrlimit(name)[1]))

        self._process = subprocess.Popen(
            [*command, "--data", self.directory, "--port", "0", *self._options],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(tools.ROOT / "src")},
            text=True,
            preexec_fn=prepare,  # noqa: PLW1509 - the child only asks the kernel
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            return self.wait()
        host, port = line.split()[-1].rsplit(":", 1)
        self.address = (host, int(port))
        return None

    def wait(self) -> int:
        """Until it has ended by itself."""
        assert self._process is not None
        self.said = self._process.communicate(timeout=SECONDS_MAX)[1]
        while self._talkers:
            self._talkers.pop().close()
        return self._process.returncode

    def stop(self) -> int:
        """Asks it to go, and waits."""
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> int:
        """Ends it as a crash would."""
        assert self._process is not None
        self._process.kill()
        return self.wait()

    @property
    def pid(self) -> int:
        """Of its process, while it lives."""
        assert self._process is not None
        return self._process.pid

    def memory(self) -> int:
        """The bytes of memory that it holds."""
        fields = Path(f"/proc/{self.pid}/statm").read_text().split()
        return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


class Talker:
    """A client that says what it likes, and reads only when it is told to."""

    def __init__(self, address: Address, host: str) -> None:
        self.socket = socket.create_connection(
            address, timeout=SECONDS_MAX, source_address=(host, 0) if host else None
        )
        self._packets = Packets(REPLY_BYTES_MAX)
        self._arrived: list[bytes] = []
        self._xid = 0

    def greet(self) -> None:
        """Asks for a session, and has it."""
        self.socket.sendall(framed(Connect(0, SESSION).body()))
        assert Connected.decode(self.receive(1)[0]).session_id

    def send(self, requests: Sequence[Request]) -> None:
        """One behind the other."""
        frames = []
        for request in requests:
            self._xid += 1
            frames.append(framed_request(self._xid, request))
        self.socket.sendall(b"".join(frames))

    def receive(self, count: int) -> list[bytes]:
        """So many packets, or fewer if the server hung up."""
        while len(self._arrived) < count:
            chunk = self._chunk()
            if not chunk:
                break
            self._arrived += self._packets.feed(chunk)
        taken, self._arrived = self._arrived[:count], self._arrived[count:]
        return taken

    def ask(self, *requests: Request) -> list[ReplyHeader]:
        """Requests and the headers of their answers."""
        self.send(requests)
        return [reply_header(packet) for packet in self.receive(len(requests))]

    def is_hung_up_on(self) -> bool:
        """Whether the server closes the connection; reads whatever comes before that."""
        while self._chunk():
            pass
        return True

    def close(self) -> None:
        """Leaves without a word."""
        self.socket.close()

    def _chunk(self) -> bytes:
        try:
            return self.socket.recv(1 << 16)
        except ConnectionError:
            return b""

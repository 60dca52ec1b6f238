"""A real ZooKeeper, one process on 127.0.0.1, for tests that compare us with it."""

import ctypes
import signal
import socket
import subprocess
import threading
from pathlib import Path

from tests.external import tools

READY_SECONDS_MAX = 60
STOP_SECONDS_MAX = 10
POLL_SECONDS = 0.05
PR_SET_PDEATHSIG = 1


class RealZookeeper:
    """A server with its data in `directory`, which survives `stop` or `kill` and then `start`.

    Its tick is 200 ms, so sessions may last from 400 ms to 60 s; all the four-letter commands and
    all kinds of nodes (TTL, container) are allowed. It starts fast, compiles little and does not
    sync to disk, unless it is to run `as_in_production`. One that is `cut_off` belongs to an
    ensemble of two whose other server is not there: it answers reads only, in sessions of its own.
    """

    host = "127.0.0.1"

    def __init__(
        self,
        classpath: str,
        directory: Path,
        *,
        as_in_production: bool = False,
        cut_off: bool = False,
    ) -> None:
        self.port = 0
        self._classpath = classpath
        self._as_in_production = as_in_production
        self._cut_off = cut_off
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def connect_string(self) -> str:
        """As clients and `zookeeper.connect` have it."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Returns once it answers. The port is chosen at the first start and kept after that."""
        assert self._process is None, "it runs already"
        self._directory.mkdir(exist_ok=True)
        chosen = self.port
        for _ in range(3):  # another may take a free port before the server does
            self.port = chosen or free_port()
            self._launch()
            if self._answers():
                return
            self.kill()
        raise AssertionError(f"ZooKeeper did not start:\n{self.log()[-4000:]}")

    def stop(self) -> None:
        """Asks it to go, and waits."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it as a crash would."""
        self._end(signal.SIGKILL)

    def command(self, four_letters: str) -> str:
        """What it answers to an administrator's command such as `ruok`, `mntr` or `wchp`."""
        with socket.create_connection((self.host, self.port), timeout=5) as connection:
            connection.sendall(four_letters.encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def log(self) -> str:
        """All that it said since the first start."""
        return (self._directory / "log").read_text(errors="replace")

    def _launch(self) -> None:
        settings = self._directory / "zoo.cfg"
        settings.write_text(
            f"dataDir={self._directory}/data\n"
            f"clientPort={self.port}\nclientPortAddress={self.host}\n"
            "tickTime=200\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"
            "admin.enableServer=false\n4lw.commands.whitelist=*\nextendedTypesEnabled=true\n"
        )
        if self._cut_off:
            self._cut_it_off(settings)
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        options.append("-Dzookeeper.forceSync=no")
        if self._as_in_production:
            options = ["-Xmx1g"]
        if self._cut_off:
            options.append("-Dreadonlymode.enabled=true")
        properties = [f"-Dlog4j.configuration=file:{tools.LOG4J}"]
        main = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
        with (self._directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [tools.java(), *options, *properties, "-cp", self._classpath, main, settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
            )

    def _cut_it_off(self, settings: Path) -> None:
        (self._directory / "data").mkdir(exist_ok=True)
        (self._directory / "data" / "myid").write_text("1\n")
        with settings.open("a") as file:
            file.write("initLimit=10\nsyncLimit=5\nlocalSessionsEnabled=true\n")
            for number in (1, 2):
                file.write(f"server.{number}={self.host}:{free_port()}:{free_port()}\n")

    def _answers(self) -> bool:
        assert self._process is not None
        pause = threading.Event()
        for _ in range(int(READY_SECONDS_MAX / POLL_SECONDS)):
            if self._process.poll() is not None:
                return False
            try:
                if self.command("srvr").startswith("Zookeeper version"):  # `ruok` comes too early
                    return True
            except OSError:
                pass
            pause.wait(POLL_SECONDS)
        return False

    def _end(self, with_signal: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(with_signal)
        try:
            self._process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None


def free_port() -> int:
    """One that nobody has at this moment; somebody may take it before it is used."""
    with socket.create_server((RealZookeeper.host, 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def die_with_parent() -> None:
    """However the tests end, no server of theirs stays behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

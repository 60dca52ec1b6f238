"""A real ZooKeeper, one process on 127.0.0.1, for tests that compare us with it."""

import ctypes
import signal
import socket
import subprocess
import threading
from pathlib import Path
from typing import NamedTuple

from tests.external import tools
from tests.external.ports import free_port

READY_SECONDS_MAX = 60
STOP_SECONDS_MAX = 10
POLL_SECONDS = 0.05
PR_SET_PDEATHSIG = 1


class Place(NamedTuple):
    """One of the servers of an ensemble: each has two ports for the others, and a number from 1.

    Without enough of the others a server answers nobody; one that `reads_alone` answers reads, in
    sessions of its own.
    """

    number: int
    ports: tuple[tuple[int, int], ...]
    reads_alone: bool = False


class Secured(NamedTuple):
    """A second port, with TLS, and users who log in by SASL. Paths of PEM, and of a JKS."""

    key_store: str
    trust_store: str
    trust_password: str
    users: dict[str, str]
    client_auth: str = "want"


class RealZookeeper:
    """A server with its data in `directory`, which survives `stop` or `kill` and then `start`.

    Its tick is 200 ms, so sessions may last from 400 ms to 60 s; all the four-letter commands and
    all kinds of nodes (TTL, container) are allowed. It starts fast, compiles little and does not
    sync to disk, unless it is to run `as_in_production`. It stands alone unless it has a `place`
    in an ensemble; then it answers once enough of the others do.
    """

    host = "127.0.0.1"

    def __init__(
        self,
        classpath: str,
        directory: Path,
        *,
        as_in_production: bool = False,
        place: Place | None = None,
        secured: Secured | None = None,
    ) -> None:
        self.port = 0
        self.secure_port = 0  # where it is secured
        self._classpath = classpath
        self._as_in_production = as_in_production
        self._place = place
        self._secured = secured
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def connect_string(self) -> str:
        """As clients and `zookeeper.connect` have it."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Returns once it answers. The port is chosen at the first start and kept after that."""
        chosen = self.port
        for _ in range(3):  # another may take a free port before the server does
            self.port = chosen
            self.launch()
            if self.answers():
                return
            self.kill()
        raise AssertionError(f"ZooKeeper did not start:\n{self.log()[-4000:]}")

    def stop(self) -> None:
        """Asks it to go, and waits."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it as a crash would."""
        self._end(signal.SIGKILL)

    @property
    def pid(self) -> int:
        """Of its process, while it lives."""
        assert self._process is not None, "it does not run"
        return self._process.pid

    def command(self, four_letters: str) -> str:
        """What it answers to an administrator's command such as `ruok`, `mntr` or `wchp`."""
        with socket.create_connection((self.host, self.port), timeout=5) as connection:
            connection.sendall(four_letters.encode())
            return b"".join(iter(lambda: connection.recv(65536), b"")).decode()

    def log(self) -> str:
        """All that it said since the first start."""
        return (self._directory / "log").read_text(errors="replace")

    def launch(self) -> None:
        """Begins to start. It dies with the thread that does so."""
        assert self._process is None, "it runs already"
        self._directory.mkdir(exist_ok=True)
        self.port = self.port or free_port()
        settings = self._directory / "zoo.cfg"
        settings.write_text(
            f"dataDir={self._directory}/data\n"
            f"clientPort={self.port}\nclientPortAddress={self.host}\n"
            "tickTime=200\nmaxSessionTimeout=60000\nmaxClientCnxns=0\n"
            "admin.enableServer=false\n4lw.commands.whitelist=*\nextendedTypesEnabled=true\n"
        )
        if self._place is not None:
            self._take(self._place, settings)
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        options.append("-Dzookeeper.forceSync=no")
        options.append("-Dznode.container.checkIntervalMs=3600000")  # what is there stays there
        if self._as_in_production:
            options = ["-Xmx1g"]
        if self._place is not None and self._place.reads_alone:
            options.append("-Dreadonlymode.enabled=true")
        if self._secured is not None:
            options += self._secure(self._secured, settings)
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

    def _take(self, place: Place, settings: Path) -> None:
        (self._directory / "data").mkdir(exist_ok=True)
        (self._directory / "data" / "myid").write_text(f"{place.number}\n")
        with settings.open("a") as file:
            file.write("initLimit=10\nsyncLimit=5\n")
            file.write(f"localSessionsEnabled={str(place.reads_alone).lower()}\n")
            for number, (peer, election) in enumerate(place.ports, 1):
                file.write(f"server.{number}={self.host}:{peer}:{election}\n")

    def _secure(self, secured: Secured, settings: Path) -> list[str]:
        """TLS needs Netty; names are those of SASL and of certificates."""
        self.secure_port = self.secure_port or free_port()
        jaas = self._directory / "jaas.conf"
        users = "\n".join(f'user_{name}="{password}"' for name, password in secured.users.items())
        module = "org.apache.zookeeper.server.auth.DigestLoginModule"
        jaas.write_text(f"Server {{ {module} required\n{users}; }};\n")
        providers = "org.apache.zookeeper.server.auth"
        with settings.open("a") as file:
            file.write(
                f"secureClientPort={self.secure_port}\nsecureClientPortAddress={self.host}\n"
                f"authProvider.sasl={providers}.SASLAuthenticationProvider\n"
                f"authProvider.x509={providers}.X509AuthenticationProvider\n"
                f"ssl.keyStore.location={secured.key_store}\n"
                f"ssl.trustStore.location={secured.trust_store}\n"
                f"ssl.trustStore.password={secured.trust_password}\n"
                f"ssl.clientAuth={secured.client_auth}\n"
            )
        factory = "org.apache.zookeeper.server.NettyServerCnxnFactory"
        return [
            f"-Dzookeeper.serverCnxnFactory={factory}",
            f"-Djava.security.auth.login.config={jaas}",
        ]

    def answers(self) -> bool:
        """Waits until it does; False if it ended instead."""
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


class RealEnsemble:
    """Several that elect a leader among themselves."""

    def __init__(self, classpath: str, directory: Path, size: int) -> None:
        ports = tuple((free_port(), free_port()) for _ in range(size))
        self.servers = [
            RealZookeeper(classpath, directory / str(number), place=Place(number, ports))
            for number in range(1, size + 1)
        ]

    @property
    def connect_string(self) -> str:
        """All of them."""
        return ",".join(server.connect_string for server in self.servers)

    def start(self) -> None:
        """Returns once all answer: each waits for the others."""
        for server in self.servers:
            server.launch()
        for server in self.servers:
            assert server.answers(), server.log()[-4000:]

    def leader(self) -> RealZookeeper:
        """The one that orders the writes."""
        (leader,) = [server for server in self.servers if "leader" in server.command("srvr")]
        return leader

    def stop(self) -> None:
        """All of them, at once: nobody waits for them."""
        for server in self.servers:
            server.kill()


def die_with_parent() -> None:
    """However the tests end, no server of theirs stays behind."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)

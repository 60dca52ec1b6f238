"""A real Kafka broker in ZooKeeper mode, one process on 127.0.0.1."""

import re
import signal
import socket
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from tests.external import tools
from tests.external.ports import free_port
from tests.external.zookeeper import die_with_parent

READY_SECONDS_MAX: Final = 90
STOP_SECONDS_MAX: Final = 20
POLL_SECONDS: Final = 0.1
STARTED: Final = re.compile(r"KafkaServer: .* started\n")
KNOWS_ITS_CONTROLLER: Final = "Recorded new ZK controller"


class RealKafka:
    """A broker whose data and log stand in `directory`; a cluster is several on one ZooKeeper."""

    host = "127.0.0.1"
    options: Sequence[str] = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    """Of the JVM: small and quick to start."""

    def __init__(
        self,
        classpath: str,
        directory: Path,
        zookeeper: str,
        broker_id: int = 0,
        *,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.port = 0
        self._settings = settings or {}  # besides those that every test has
        self._classpath = classpath
        self._directory = directory
        self._zookeeper = zookeeper
        self._id = broker_id
        self._process: subprocess.Popen[bytes] | None = None
        self._said = 0  # how much of its log was there before this life

    @property
    def bootstrap(self) -> str:
        """As clients have it."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Returns once it has registered, listens, and can tell a client of its controller.

        A client that asks sooner is told of no controller and no topic, and librdkafka may not ask
        again for minutes.
        """
        self.begin()
        self.await_started()

    def begin(self) -> None:
        """Starts the process. It dies with the thread that calls this."""
        assert self._process is None, "it runs already"
        self._directory.mkdir(exist_ok=True)
        self._said = len(self.log()) if self._log.exists() else 0
        self.port = self.port or free_port()
        self._process = self._launch()

    def await_started(self) -> None:
        """Returns once clients can use it."""
        process = self._process
        assert process is not None, "it was not begun"
        pause = threading.Event()
        for _ in range(int(READY_SECONDS_MAX / POLL_SECONDS)):
            if process.poll() is not None:
                break
            said = self.log()[self._said :]
            if STARTED.search(said) and KNOWS_ITS_CONTROLLER in said and self._listens():
                return
            pause.wait(POLL_SECONDS)
        self.kill()
        raise AssertionError(f"Kafka did not start:\n{self.log()[-4000:]}")

    def stop(self) -> None:
        """Asks it to go, and waits."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """Ends it as a crash would."""
        self._end(signal.SIGKILL)

    def log(self) -> str:
        """All that it said since the first start."""
        return self._log.read_text(errors="replace")

    @property
    def _log(self) -> Path:
        return self._directory / "log"

    def _launch(self) -> subprocess.Popen[bytes]:
        settings = self._directory / "server.properties"
        more = "".join(f"{name}={value}\n" for name, value in self._settings.items())
        settings.write_text(
            f"broker.id={self._id}\nzookeeper.connect={self._zookeeper}\n"
            f"listeners=PLAINTEXT://{self.host}:{self.port}\nlog.dirs={self._directory}/data\n"
            "zookeeper.session.timeout.ms=3000\nnum.partitions=1\n"
            "offsets.topic.replication.factor=1\noffsets.topic.num.partitions=1\n"
            "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
            "group.initial.rebalance.delay.ms=0\ngroup.min.session.timeout.ms=100\nlog.cleaner.enable=false\n"
            + more
        )
        properties = [f"-Dlog4j.configuration=file:{tools.LOG4J}"]
        command = [tools.java(), *self.options, *properties, "-cp", self._classpath, "kafka.Kafka"]
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*command, settings],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
            )

    def _listens(self) -> bool:
        try:
            socket.create_connection((self.host, self.port), timeout=1).close()
        except OSError:
            return False
        return True

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

"""Our broker as its users start it: a process of its own, with two log dirs and its ZooKeeper.

Where `ODRADEK_AGAINST=kafka` says so, the same tests run against a real Kafka: what they expect of
us must be true of it.
"""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

from tests.compat.zookeeper_ours import OurZookeeper
from tests.external import tools
from tests.external.kafka import RealKafka
from tests.external.ports import free_port
from tests.external.zookeeper import die_with_parent

READY_SECONDS_MAX: Final = 60
STOP_SECONDS_MAX: Final = 60
POLL_SECONDS: Final = 0.02
SETTINGS: Final = {
    "broker.id": "1",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "3",
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "100",
    "zookeeper.embedded.port": "0",
    "admin.listener": "",
}


class Broker(Protocol):
    """One broker that clients can be pointed at."""

    @property
    def bootstrap(self) -> str:
        """As clients have it."""
        ...

    def start(self) -> None:
        """Returns once it serves."""
        ...

    def stop(self) -> None:
        """Asks it to go, and waits."""
        ...

    def kill(self) -> None:
        """Ends it at once."""
        ...


class OdradekBroker:
    """A broker whose files stand in `directory`; it keeps its port from life to life.

    A `_` in a setting's name stands for its dot.
    """

    host = "127.0.0.1"
    source = tools.ROOT / "src"  # whose code it runs

    def __init__(self, directory: Path, **settings: str) -> None:
        self.directory = directory
        self.port = free_port()
        chosen = {name.replace("_", "."): value for name, value in settings.items()}
        self._settings = {**SETTINGS, **chosen}
        self._process: subprocess.Popen[bytes] | None = None
        self._said = 0  # how much of its log was there before this life

    @property
    def bootstrap(self) -> str:
        """As clients have it."""
        return f"{self.host}:{self.port}"

    def start(self) -> None:
        """Returns once it says that it has started."""
        self.launch()
        self.await_start()

    def launch(self) -> None:
        """Begins to start. It dies with the thread that does so."""
        assert self._process is None, "it runs already"
        self.directory.mkdir(exist_ok=True)
        self._said = len(self.log()) if self._log.exists() else 0
        self._process = self._launch()

    def await_start(self) -> None:
        """Returns once it says that it has started."""
        process = self._process
        assert process is not None, "it was not launched"
        eventually(
            lambda: process.poll() is not None or self._has_started(),
            seconds=READY_SECONDS_MAX,
        )
        if process.poll() is not None:
            self._process = None
            raise AssertionError(f"the broker did not start:\n{self.log()[-4000:]}")

    def _has_started(self) -> bool:
        number = self._settings["broker.id"]
        return f"[KafkaServer id={number}] started" in self.log()[self._said :]

    @property
    def has_process(self) -> bool:
        """Whether it was started, and its end was not waited for."""
        return self._process is not None

    @property
    def pid(self) -> int:
        """Of its process, while it lives."""
        assert self._process is not None, "it does not run"
        return self._process.pid

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
        return self.directory / "log"

    def _command(self, file: Path) -> list[str]:
        return [sys.executable, "-m", "odradek", "serve", str(file)]

    def _launch(self) -> subprocess.Popen[bytes]:
        file = self.directory / "server.properties"
        settings = {
            "listeners": f"PLAINTEXT://{self.host}:{self.port}",
            "log.dirs": f"{self.directory}/disk-a,{self.directory}/disk-b",
            **self._settings,
        }
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        with self._log.open("ab") as log:
            return subprocess.Popen(
                self._command(file),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": str(self.source)},
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
            )

    def await_end(self) -> None:
        """Of a process that was told to end, and does so by itself."""
        self._end(signal.SIG_DFL)

    def _end(self, with_signal: signal.Signals | signal.Handlers) -> None:
        if self._process is None:
            return
        process, self._process = self._process, None
        if with_signal:
            process.send_signal(with_signal)
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise AssertionError(f"it did not end:\n{self.log()[-4000:]}") from None


class KafkaBroker(RealKafka):
    """Kafka itself, on our ZooKeeper server."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._keeper = OurZookeeper(directory / "zookeeper")
        (directory / "zookeeper").mkdir()
        self._keeper.start()
        host, port = self._keeper.address
        super().__init__(tools.kafka_classpath(), directory / "kafka", f"{host}:{port}", 1)


def broker_in(directory: Path) -> Broker:
    """The one that is to be tested; not started yet."""
    if os.environ.get("ODRADEK_AGAINST") == "kafka":
        return KafkaBroker(directory / "broker")
    return OdradekBroker(directory / "broker")


def eventually(
    condition: Callable[[], object], *, seconds: float = 60, what: str = "it never came true"
) -> None:
    """Looks again and again, up to a bound."""
    pause = threading.Event()
    for _ in range(int(seconds / POLL_SECONDS)):
        if condition():
            return
        pause.wait(POLL_SECONDS)
    assert condition(), what

"""A cluster whose brokers are processes, so that a kill is a real SIGKILL.

What can be done to it is what an operating system can do to a process. Faults of disks and links
are at doors within a broker, so they are refused with `WrongCall`. ZooKeeper is in this process.
"""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

from odradek import __file__ as package
from odradek.model.errors import BrokerError
from odradek.testing.brokers import CLIENT, HOST, LOOK_SECONDS, PATIENCE_SECONDS, Brokers, Seen
from odradek.testing.errors import WrongCall
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)

STARTED: Final = re.compile(r"^\[KafkaServer id=\d+\] started$", re.MULTILINE)
ADDRESS: Final = re.compile(rf"^{CLIENT} listens at .*:(\d+)$", re.MULTILINE)
WARNED: Final = re.compile(r"\[(warning|error|critical)")
STOP_SECONDS: Final = 30.0
LINES_KEPT: Final = 200
LINES_TOLD: Final = 5
"""Of one that did not start."""


class Process:
    """One broker, through its lives."""

    def __init__(self, number: int, folder: Path, settings: Mapping[str, str]) -> None:
        self.number = number
        self.folder = folder / f"broker-{number}"
        self.dirs = [self.folder / it for it in ("disk-0", "disk-1")]
        self.ports = {CLIENT: 0}
        self.is_paused = False
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        for path in self.dirs:
            path.mkdir(parents=True)

    @property
    def events(self) -> Path:
        """What this life has written."""
        return self.folder / "events.log"

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None and self._has_started

    @property
    def answers(self) -> bool:
        return self.is_alive and not self.is_paused

    @property
    def living(self) -> "subprocess.Popen[bytes]":
        """This life; refused where there is none."""
        if self._process is None or self._process.poll() is not None:
            raise WrongCall(f"broker {self.number} does not run")
        return self._process

    @property
    def _has_started(self) -> bool:
        return STARTED.search(self.events.read_text()) is not None

    def launch(self) -> None:
        """Begins a life. Once it has been there it keeps its port."""
        if self._process is not None and self._process.poll() is None:
            raise WrongCall(f"broker {self.number} runs already")
        said = {
            **self._settings,
            "broker.id": str(self.number),
            "listeners": f"{CLIENT}://{HOST}:{self.ports[CLIENT]}",
            "log.dirs": ",".join(map(str, self.dirs)),
        }
        given = [word for row in said.items() for word in ("--override", "=".join(row))]
        path = os.pathsep.join([str(Path(package).parents[1]), *filter(None, sys.path)])
        with self.events.open("wb") as events:
            self._process = subprocess.Popen(  # noqa: S603 - it is ourselves
                [sys.executable, "-m", "odradek.testing.child", "serve", *given],
                stdin=subprocess.PIPE,
                stdout=events,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONPATH": path},
                start_new_session=True,  # a Ctrl-C is for the test alone
            )

    def await_start(self) -> None:
        """Returns when clients are served."""
        pause = threading.Event()
        for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
            if self._has_started or self._process is None or self._process.poll() is not None:
                break
            pause.wait(LOOK_SECONDS)
        text = self.events.read_text()
        found = ADDRESS.search(text)
        if found is None or not self.is_alive:
            self.kill()
            last = "; ".join(text.splitlines()[-LINES_TOLD:])
            raise WrongCall(f"broker {self.number} did not start: {last}")
        self.ports[CLIENT] = int(found[1])

    def kill(self) -> None:
        """With SIGKILL, if it runs."""
        if self._process is not None:
            self._process.kill()
            self._reap(self._process)

    def stop(self) -> None:
        """With SIGTERM, also if it stands still."""
        process = self.living
        self.resume()
        process.terminate()
        self._reap(process)

    def pause(self) -> None:
        """With SIGSTOP; returns when it stands."""
        process = self.living
        process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        self.is_paused = True

    def resume(self) -> None:
        """With SIGCONT."""
        self.living.send_signal(signal.SIGCONT)
        self.is_paused = False

    def _reap(self, process: "subprocess.Popen[bytes]") -> None:
        process.wait(STOP_SECONDS)
        assert process.stdin is not None
        process.stdin.close()
        self.is_paused = False


class IsolatedCluster(Brokers[Process]):
    """Brokers 1 to n, each in a process. Use it as a context."""

    def _launch(self, folder: Path, settings: Mapping[str, str]) -> None:
        for number in range(1, self._count + 1):
            self._members[number] = Process(number, folder, settings)
            self._members[number].launch()
        for member in self._members.values():
            member.await_start()

    def _kill_all(self) -> None:
        for member in self._members.values():
            member.kill()

    @property
    def told(self) -> list[str]:
        lines = [
            f"broker {number}: {line}"
            for number, it in self._members.items()
            if it.events.exists()
            for line in it.events.read_text().splitlines()
            if WARNED.search(line)
        ]
        return super().told + lines[-LINES_KEPT:]

    # Brokers

    def pid(self, broker: int) -> int:
        """The number of its process."""
        return self._member(broker).living.pid

    def kill(self, broker: int) -> None:
        """Ends it at once, with SIGKILL."""
        member = self._member(broker)
        if not member.is_alive:
            raise WrongCall(f"broker {broker} does not run")
        member.kill()

    def start(self, broker: int) -> None:
        """Starts it again, at its port and on its disks."""
        self._member(broker).launch()
        self._member(broker).await_start()

    def stop(self, broker: int) -> None:
        """In good order, with SIGTERM: it hands over what it leads."""
        self._member(broker).stop()

    def pause(self, broker: int) -> None:
        """With SIGSTOP: its connections stay open, and nothing is answered."""
        if self._member(broker).is_paused:
            raise WrongCall(f"broker {broker} stands still already")
        self._member(broker).pause()

    def resume(self, broker: int) -> None:
        """With SIGCONT: it goes on."""
        if not self._member(broker).is_paused:
            raise WrongCall(f"broker {broker} does not stand still")
        self._member(broker).resume()

    # What a broker in a process has no doors for

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise WrongCall("faults of disks and links need brokers in this process: no isolated=True")

    fail_disk = fill_disk = slow_disk = mend_disk = replace_disk = _refuse
    cut = delay = cut_clients = heal = _refuse

    # How it is found out

    def _seen(self, topic: str) -> dict[int, Seen]:
        """As each partition's leader says, for it hears first of changes in the ISR."""
        found: dict[int, Seen] = {}
        epochs: dict[int, int] = {}
        for number in self._answering():
            answer = self._ask(number, topic)
            for it in () if answer is None else answer.topics[0].partitions:
                epoch = 2 * it.leader_epoch + (it.leader_id == number)
                if epochs.get(it.partition_index, -2) < epoch:
                    epochs[it.partition_index] = epoch
                    leader = None if it.leader_id < 0 else it.leader_id
                    found[it.partition_index] = Seen(leader, it.replica_nodes, it.isr_nodes)
        return found

    def _is_known(self, topic: str) -> bool:
        answers = [self._ask(it, topic) for it in self._answering()]
        return all(it is not None and it.topics[0].error_code == 0 for it in answers)

    def _controllers(self) -> set[int | None]:
        answers = [self._ask(it) for it in self._answering()]
        return {None if it is None else it.controller_id for it in answers}

    def _ask(self, broker: int, *topics: str) -> MetadataResponse | None:
        """What this broker says; None, while it does not answer."""
        address = (HOST, self._members[broker].ports[CLIENT])

        async def asked() -> MetadataResponse:
            connection = await self._client.connection(address)
            wanted = [MetadataRequestTopic(name=it) for it in topics]
            answer: MetadataResponse = await connection.ask(
                MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
            )
            return answer

        with suppress(BrokerError):
            return self._zookeeper.thread.call(asked(), PATIENCE_SECONDS)
        return None

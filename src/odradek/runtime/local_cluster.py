"""`odradek up --brokers 3`: a ZooKeeper and several brokers on one machine, a process each.

This process starts them, tells which of them end, and ends those that are left when it is asked to:
the brokers one after the other, so that each can hand over what it leads, and ZooKeeper last. One
that ends by itself is not started again: who killed it wants to see what the others do.
"""

import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1  # Linux: the kernel signals a child whose parent has died
START_SECONDS_MAX: Final = 60
STOP_SECONDS_MAX: Final = 30
ZOOKEEPER_STARTED: Final = "ZooKeeper listens at"

Say = Callable[[str], None]


class NotStarted(Exception):
    """A process ended before it was ready: which, and the last that it printed."""


@dataclass(frozen=True)
class Member:
    """One process of the cluster."""

    name: str
    arguments: Sequence[str]
    """Of the odradek command."""
    log: Path
    """What it prints."""


class LocalCluster:
    """The processes, from their start to their end."""

    def __init__(self, say: Say) -> None:
        self._say = say
        self._running: dict[Member, subprocess.Popen[bytes]] = {}
        self._ended: queue.Queue[Member] = queue.Queue()

    def pid(self, member: Member) -> int:
        """Of its process."""
        return self._running[member].pid

    def start(self, members: Sequence[Member]) -> None:
        """Returns once all of these serve; raises where one does not."""
        begun = [(member, *self._launch(member)) for member in members]
        for member, process, at in begun:
            _await_started(member, process, at)

    def _launch(self, member: Member) -> tuple[subprocess.Popen[bytes], int]:
        member.log.parent.mkdir(parents=True, exist_ok=True)
        with member.log.open("ab") as log:
            at = log.tell()
            process = subprocess.Popen(  # noqa: S603 - this command again
                [sys.executable, "-m", "odradek", *member.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for this process, which ends them in order
                preexec_fn=_end_with_parent,  # noqa: PLW1509 - no other thread runs yet
            )
        self._running[member] = process
        return process, at

    def watch(self) -> None:
        """Tells who ends, until the process is asked to end or none is left."""
        for member, process in self._running.items():
            waiter = threading.Thread(target=self._wait, args=(member, process), daemon=True)
            waiter.start()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, _interrupt)
        try:
            while self._running:
                member = self._ended.get()
                process = self._running.pop(member)
                self._say(f"{member.name} {how_it_ended(process.returncode)}; see {member.log}")
        except KeyboardInterrupt:
            return

    def _wait(self, member: Member, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        self._ended.put(member)

    def stop(self) -> None:
        """In the reverse of the order in which they were started; asked once more, at once."""
        try:
            for member, process in reversed(self._running.items()):
                process.terminate()
                try:
                    process.wait(STOP_SECONDS_MAX)
                except subprocess.TimeoutExpired:
                    self._say(f"{member.name} did not stop within {STOP_SECONDS_MAX} s: killed")
                    process.kill()
        except KeyboardInterrupt:
            self._say("killed")
        finally:
            for process in self._running.values():
                if process.poll() is None:
                    process.kill()
            for process in self._running.values():
                process.wait()


def how_it_ended(code: int) -> str:
    """For a person."""
    if code >= 0:
        return f"ended with exit code {code}"
    return f"was ended by {signal.Signals(-code).name}"


def _await_started(member: Member, process: subprocess.Popen[bytes], at: int) -> None:
    """Looks into what it prints: there is nothing else that both kinds of server have."""
    pause = threading.Event()
    for _ in range(START_SECONDS_MAX * 50):
        with member.log.open("rb") as log:
            log.seek(at)
            lines = log.read().decode(errors="replace").splitlines()
        if any(line.startswith(ZOOKEEPER_STARTED) or line.endswith("] started") for line in lines):
            return
        if process.poll() is not None:
            said = lines[-1] if lines else how_it_ended(process.returncode)
            raise NotStarted(f"{member.name} did not start: {said}")
        pause.wait(0.02)
    raise NotStarted(f"{member.name} has not started within {START_SECONDS_MAX} s: {member.log}")


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def _end_with_parent() -> None:
    """Where this process is killed, nothing of the cluster stays behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def write_properties(file: Path, settings: Mapping[str, str]) -> None:
    """A properties file that `odradek serve` takes; for its owner alone: it may hold passwords."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{name}={value}\n" for name, value in settings.items()]
    fresh = file.with_name(f"{file.name}.{os.getpid()}")
    fresh.touch(0o600)
    fresh.write_text("# Written by `odradek up` at each start.\n" + "".join(lines))
    fresh.replace(file)

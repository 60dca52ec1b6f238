"""Copiers in processes of their own: killed, halted, replaced, and begun again with their names."""

from __future__ import annotations

import signal
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from subprocess import TimeoutExpired
from typing import Final, NamedTuple

from tests.compat.java_clients import fresh
from tests.live.copiers.orders import ENDED, REPLACED, Orders, Said
from tests.live.programs import Program

LIBRDKAFKA: Final = "tests.live.copiers.of_librdkafka"
OURS: Final = "tests.live.copiers.of_our_client"
COPIERS: Final = {"copier-static": LIBRDKAFKA, "copier": LIBRDKAFKA, "copier-ours": OURS}
LEAVES_OPEN: Final = "copier-gone"


class Topics(NamedTuple):
    """What is copied, where to, and where transactions are listed."""

    source: str
    target: str
    ledger: str


class Fleet:
    """One process for each of `COPIERS`, unless it is down."""

    def __init__(self, bootstrap: str, topics: Topics, group: str, folder: Path) -> None:
        self._about = (bootstrap, *topics, group)
        self._folder = folder
        folder.mkdir(exist_ok=True)
        self._running: dict[str, Program] = {}
        self._lives: list[Program] = []
        self.ghosts: list[tuple[str, Program]] = []  # whose name another has, and who live
        self.ended: Counter[str] = Counter()  # why those that were not killed had to begin anew
        for name in COPIERS:
            self.start(name)

    def close(self) -> None:
        """All, as by `kill -9`."""
        for life in self._lives:
            life.close()
        self._running.clear()

    @property
    def running(self) -> list[str]:
        """Their names."""
        return sorted(self._running)

    def start(self, name: str) -> None:
        """With this name, whoever had it before."""
        self._running[name] = self._begin(COPIERS[name], name)

    def _begin(self, module: str, name: str, *more: str) -> Program:
        orders = Orders(*self._about, name)
        command = [sys.executable, "-m", module, *orders, *more]
        life = Program(command, self._folder / fresh("said"))
        self._lives.append(life)
        return life

    def kill(self, name: str) -> None:
        """In whatever it is doing."""
        self._running.pop(name).close()

    def pause(self, name: str) -> Program:
        """It stands still, and its connections stay."""
        life = self._running[name]
        life.process.send_signal(signal.SIGSTOP)
        return life

    def replace(self, name: str) -> Program:
        """Another has its name while it stands still."""
        ghost = self.pause(name)
        self.ghosts.append((name, ghost))
        self.start(name)
        return ghost

    def tend(self) -> None:
        """Those that have to begin anew do; any other end is an error.

        Of two with one name the one that came last is heard: that is a ghost, if it stood still
        before it had begun.
        """
        for name, ghost in list(self.ghosts):
            other = self._running.get(name)
            if ghost.process.poll() is not None:
                self._check(ghost)
            elif other is not None and other.process.poll() is not None:
                self._check(other)
                self._running[name] = ghost
            else:
                continue
            self.ghosts.remove((name, ghost))
        for name, life in sorted(self._running.items()):
            if life.process.poll() is not None:
                self._check(life)
                self.start(name)

    def _check(self, life: Program) -> None:
        assert life.process.returncode == REPLACED, "\n".join(life.lines()[-40:])
        self.ended[next(it for it in reversed(life.lines()) if it.startswith(ENDED))] += 1

    def leave_open(self) -> None:
        """One more begins a transaction in every partition, and is killed."""
        life = self._begin(LIBRDKAFKA, LEAVES_OPEN, "--leave-open")
        while life.process.poll() is None and not _said(life, Said.OPEN):
            with suppress(TimeoutExpired):
                life.process.wait(0.05)
        assert _said(life, Said.OPEN), life.lines()
        life.close()

    def told(self, what: Said) -> set[bytes]:
        """The transactions of which a copier said this, in all lives."""
        return {name for life in self._lives for name in _said(life, what)}


def _said(life: Program, what: Said) -> list[bytes]:
    words = [line.split() for line in life.lines()]
    return [it[1].encode() for it in words if len(it) == 2 and it[0] == what.value]

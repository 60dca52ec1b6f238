"""What may strike while copiers copy: what strikes brokers in `pairs`, and the copiers themselves.

Those that need more time than others are drawn less often; copiers are struck more often.
"""

from __future__ import annotations

import signal
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Final

from tests.live.copiers.fleet import Fleet
from tests.live.copiers.orders import TRANSACTION_MS
from tests.live.pairs import changes, faults
from tests.live.pairs.arena import Arena, Place
from tests.live.pairs.faults import Fault
from tests.live.pairs.kinds import DISKS, TO_SERVERS
from tests.live.programs import Program

BROKERS: Final = 3
ZOOKEEPER_SECONDS: Final = 30
HANGS_SECONDS: Final = TRANSACTION_MS / 1_000 + 1


class CopierArena(Arena):
    """Three brokers, and the copiers of now."""

    fleet: Fleet

    def __init__(self, folder: Path, random: Random) -> None:
        super().__init__(folder, random, BROKERS)
        self.said = folder / "copiers"
        """What each of them said."""


class OfCopier(Fault):
    """Strikes one of those that run."""

    is_of_clients = True

    def __init__(self, arena: Arena, place: Place) -> None:
        super().__init__(arena, place)
        assert isinstance(arena, CopierArena)
        self.fleet = arena.fleet
        self.name = arena.random.choice(self.fleet.running)

    def __str__(self) -> str:
        return f"{type(self).__name__} {self.name}"


class CopierDies(OfCopier):
    """kill -9; it begins again with its transactional id."""

    def strike(self) -> None:
        """In the midst of a transaction, more often than not."""
        self.fleet.kill(self.name)

    def heal(self) -> None:
        """Another life."""
        self.fleet.start(self.name)


class CopierHangs(OfCopier):
    """SIGSTOP past its session and the time-out of its transaction."""

    def strike(self) -> None:
        """Its sockets stay."""
        self.begun = monotonic()
        self.life = self.fleet.pause(self.name)

    def heal(self) -> None:
        """It wants to go on where it was."""
        sleep(max(0, self.begun + HANGS_SECONDS - monotonic()))
        _resume(self.life)


class CopierIsReplaced(OfCopier):
    """It stands still while another goes on with its transactional id, and then it comes back."""

    def strike(self) -> None:
        """Two have the name."""
        self.ghost = self.fleet.replace(self.name)

    def heal(self) -> None:
        """One of them notices that it is fenced, before all are whole."""
        _resume(self.ghost)


def _resume(life: Program) -> None:
    """Unless it was killed meanwhile."""
    with suppress(ProcessLookupError):
        life.process.send_signal(signal.SIGCONT)


class ZookeeperIsLongAway(faults.ZookeeperIsAway):
    """For many of its sessions."""

    def strike(self) -> None:
        """Nobody is answered."""
        self.begun = monotonic()
        super().strike()

    def heal(self) -> None:
        """When the time is over."""
        sleep(max(0, self.begun + ZOOKEEPER_SECONDS - monotonic()))
        super().heal()


class RollingRestart(Fault):
    """SIGTERM and a start, one broker after the other, each when all replicas are in sync."""

    needs_all = True

    def strike(self) -> None:
        """All of it."""
        for number in sorted(self.arena.cluster.brokers):
            self.arena.signal(number, signal.SIGTERM)
            self.arena.start_again()
            self.arena.cluster.await_isr(*self.arena.topics, BROKERS)

    def __str__(self) -> str:
        return type(self).__name__


COPIERS: Final = (CopierDies, CopierHangs, CopierIsReplaced)
FAULTS: Final[tuple[type[Fault], ...]] = (
    *TO_SERVERS,
    faults.Dies,
    faults.Hangs,
    changes.MinIsrIsRaised,
    changes.SegmentsAreSmall,
    RollingRestart,
    ZookeeperIsLongAway,
    *DISKS,
    *COPIERS,
    *COPIERS,
    CopierDies,
)

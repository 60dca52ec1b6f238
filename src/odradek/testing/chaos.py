"""Faults by chance, from a seed: one at a time, and healed before the next.

The order of what is drawn is the seed's; when it meets the test's own steps is the machine's.
"""

import random
import threading
from collections.abc import Callable
from typing import Final

from odradek.testing.local import LocalCluster

PAUSE_SECONDS: Final = (0.05, 0.4)
LASTS_SECONDS: Final = (0.05, 1.5)
SLOW_MS: Final = (5, 100)

Beginning = Callable[[], None]
Healing = Callable[[], None]


class Chaos:
    """Draws until it is ended; then all is whole again."""

    def __init__(self, cluster: LocalCluster, seed: int) -> None:
        self.seed = seed
        self.drawn: list[str] = []
        self.failure: Exception | None = None
        self._cluster = cluster
        self._chance = random.Random(seed)  # noqa: S311 - it is to be drawn again
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Returns when every fault is healed."""
        self._over.set()
        self._thread.join()

    def __str__(self) -> str:
        lines = [f"@pytest.mark.odradek(chaos={self.seed}) draws this again:", *self.drawn]
        return "\n".join(lines)

    def _run(self) -> None:
        try:
            while not self._over.wait(self._chance.uniform(*PAUSE_SECONDS)):
                name, begin, heal = self._fault()
                self.drawn.append(name)  # before it is over: a stop takes its time
                begin()
                self._over.wait(self._chance.uniform(*LASTS_SECONDS))
                heal()
        except Exception as error:  # noqa: BLE001 - the test is told of it
            self.failure = error

    def _fault(self) -> tuple[str, Beginning, Healing]:
        """One that a cluster with a replica to spare survives."""
        c, chance = self._cluster, self._chance
        broker = chance.choice(c.brokers)
        others = [it for it in c.brokers if it != broker]
        disk, ms = chance.randrange(2), chance.randint(*SLOW_MS)
        faults: list[tuple[str, Beginning, Healing]] = [
            (f"kill({broker})", lambda: c.kill(broker), lambda: c.start(broker)),
            (f"stop({broker})", lambda: c.stop(broker), lambda: c.start(broker)),
            (f"pause({broker})", lambda: c.pause(broker), lambda: c.resume(broker)),
            (f"cut({{{broker}}}, {set(others)})", lambda: c.cut([broker], others), c.heal),
            (f"cut_clients({broker})", lambda: c.cut_clients(broker), c.heal),
            (
                f"slow_disk({broker}, {disk}, ms={ms})",
                lambda: c.slow_disk(broker, disk, ms=ms),
                lambda: c.mend_disk(broker, disk),
            ),
            (f"expire_session({broker})", lambda: c.expire_session(broker), _nothing),
        ]
        return chance.choice(faults)


def _nothing() -> None:
    """It heals by itself."""

"""What goes on until a time is over: one load after the other on a cluster, under drawn faults."""

from __future__ import annotations

import argparse
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tests.live.mounted_disks import why_not
from tests.live.pairs.arena import Arena

A = TypeVar("A", bound=Arena)


def until_over(
    about: str, arena_in: Callable[[Path, random.Random], A], load: Callable[[A, float], str]
) -> int:
    """Loads, of which each says what has been done so far; told until when they go on.

    What breaks a promise is raised, behind the place where the brokers' logs are.
    """
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    chosen = parser.parse_args()
    print(f"seed {chosen.seed}", flush=True)
    until = time.monotonic() + 60 * chosen.minutes
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    with arena_in(folder / "cluster", random.Random(chosen.seed)) as arena:
        if not arena.disks:
            print(f"disks do not fail here: {why_not()}")
        while time.monotonic() < until:
            try:
                print(load(arena, until), flush=True)
            except BaseException:
                print(f"\nbroken: logs are in {folder}", flush=True)
                (folder / "brokers.log").write_text(arena.cluster.logs())
                raise
    shutil.rmtree(folder)
    return 0

"""A process that upserts, and may be killed at any of its own calls; and the log that it reads."""

import json
import random
import sys
from pathlib import Path

from tests.pipelines.mortal import Mortal
from tests.pipelines.upserts.keyed import KeyedTable, Record

WATCHED = (
    "odradek/pipelines/moving",
    "odradek/pipelines/tables",
    "odradek/pipelines/upserts",
    "pyiceberg/table",
)
PARTITIONS = 2
BATCH = 20
NUMBERS = 60


def log_of(count: int) -> dict[int, list[Record]]:
    """So many puts and deletes, always the same; a key is of one partition."""
    chance = random.Random(5)
    log: dict[int, list[Record]] = {it: [] for it in range(PARTITIONS)}
    for n in range(count):
        number = chance.randrange(NUMBERS)
        value = None if chance.random() < 0.2 else json.dumps({"id": number, "n": n}).encode()
        log[number % PARTITIONS].append((b"%d" % number, value))
    return log


def upsert(location: str, count: int, kill_at: int | None = None, said: str = "") -> None:
    """Goes on where the table ends, in small batches."""
    log = log_of(count)
    mortal = Mortal(kill_at, WATCHED)
    sys.setprofile(mortal)
    table = KeyedTable(location, log, file_bytes=300)
    while any(table.end(it) < len(those) for it, those in log.items()):
        table.batch({it: min(len(those), table.end(it) + BATCH) for it, those in log.items()})
    sys.setprofile(None)
    if said:
        Path(said).write_text(str(mortal.calls), encoding="utf-8")

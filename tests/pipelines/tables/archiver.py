"""Processes that write to one table at the same time, and may be killed at any moment.

Each function is the whole life of a process. A process that is to be killed counts the calls that
the code of the tables makes, and kills itself at a given one: no cleaning up, no `finally`.
"""

import sys
from pathlib import Path

from odradek.pipelines.tables import commits
from odradek.pipelines.tables.rewriting import merge_small
from odradek.pipelines.tables.sweep import sweep
from odradek.pipelines.tables.table import NoSuchTable, Snapshot, TableExists, TableRefused
from tests.pipelines.mortal import Mortal
from tests.pipelines.tables.lake import TOPIC, Lake, new_range

STEP = 10
WATCHED = ("odradek/pipelines/tables", "pyiceberg/table", "pyiceberg/catalog")


def archive_and_merge(location: str, end: int, kill_at: int | None = None, said: str = "") -> None:
    """Merges what is small after each batch."""
    archive(location, end, kill_at, said, merges=True)


def archive(
    location: str,
    end: int,
    kill_at: int | None = None,
    said: str = "",
    *,
    merges: bool = False,
) -> None:
    """Adds batches of ten offsets until the table ends there, whoever adds beside it."""
    mortal = Mortal(kill_at, WATCHED)
    sys.setprofile(mortal)
    lake = Lake(location)
    snapshot = opened(lake)
    while (at := reached(snapshot)) < end:
        try:
            snapshot = lake.append(snapshot, new_range(at, min(at + STEP, end)))
            if merges:
                merge_small(lake.table, lake.layout(snapshot), snapshot)
                snapshot = lake.table.load()
        except TableRefused:
            snapshot = lake.table.load()
    sys.setprofile(None)
    if said:
        Path(said).write_text(str(mortal.calls), encoding="utf-8")


def opened(lake: Lake) -> Snapshot:
    """The table, created if nobody has."""
    try:
        return lake.table.load()
    except NoSuchTable:
        try:
            return lake.create()
        except TableExists:
            return lake.table.load()


def reached(snapshot: Snapshot) -> int:
    """Where the table ends."""
    topic = snapshot.positions.topics.get(TOPIC)
    return 0 if topic is None else topic.offsets[0]


def backfill(location: str, end: int) -> None:
    """Rewrites what is there, again and again, until the table is full."""
    lake = Lake(location)
    snapshot = opened(lake)
    while (at := reached(snapshot)) < end:
        if at > STEP:
            lake.replace(lake.batch(snapshot, new_range(at // 2, at // 2 + STEP // 2)))
        snapshot = lake.table.load()


def merge(location: str, end: int) -> None:
    """Merges small files, expires versions and sweeps, until the table is full."""
    lake = Lake(location)
    snapshot = opened(lake)
    while reached(snapshot) < end:
        merge_small(lake.table, lake.layout(snapshot), snapshot)
        sweep(lake.table)
        snapshot = lake.table.load()


__all__ = ["archive", "backfill", "commits", "merge"]

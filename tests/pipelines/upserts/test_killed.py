"""Processes that upsert and are killed at any step, or that another one comes in between."""

import json
import random
import signal
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.tables.table import Change, TableRefused
from tests.pipelines.mortal import processes
from tests.pipelines.upserts import upserter
from tests.pipelines.upserts.keyed import FORMATS, KeyedTable, place_of, rows_of_others
from tests.pipelines.upserts.upserter import log_of

KILLS = {"delta": 12, "iceberg": 5}
ADDED = 60


def truth(count: int) -> list[dict[str, Any]]:
    """The last value of each key."""
    rows = {key: value for those in log_of(count).values() for key, value in those}
    found = [json.loads(it) for it in rows.values() if it is not None]
    return sorted(found, key=lambda it: it["id"])


def check(location: str, count: int) -> None:
    """Each reader finds the truth."""
    for rows in (KeyedTable(location, {}).found(), rows_of_others(location)):
        assert sorted(rows, key=lambda it: it["id"]) == truth(count)


@pytest.mark.parametrize("form", FORMATS)
def test_killed_at_any_step_it_goes_on_where_it_was(form: str, tmp_path: Path) -> None:
    """Between runs, merges, the commit and what follows it: no change is lost, none comes twice."""
    said = tmp_path / "calls"
    count = ADDED
    assert lived(f"{form}:{tmp_path}/whole", count, None, str(said)) == 0
    check(f"{form}:{tmp_path}/whole", count)
    chance = random.Random(form)
    location, deaths = place_of(tmp_path, form), 0
    for _ in range(KILLS[form]):
        kill_at = chance.randrange(1, int(said.read_text()))
        deaths += lived(location, count, kill_at) == -signal.SIGKILL
        count += ADDED
    assert deaths > KILLS[form] // 2
    assert lived(location, count) == 0
    check(location, count)


def lived(*arguments: object) -> int | None:
    """How a process ended."""
    process = processes.Process(target=upserter.upsert, args=arguments)
    process.start()
    process.join()
    return process.exitcode


@pytest.mark.parametrize("form", FORMATS)
def test_files_that_are_exchanged_meanwhile_are_merged_into_anew(form: str, tmp_path: Path) -> None:
    """A compaction commits between a batch's merge and its commit."""
    log = log_of(200)
    table = KeyedTable(place_of(tmp_path, form), log, file_bytes=300)
    table.batch(dict.fromkeys(log, 40))
    other = KeyedTable(table.location, log, file_bytes=1 << 20)
    table.between = other.compact
    table.batch({it: len(those) for it, those in log.items()})
    assert other.compacted > 1
    check(table.location, 200)


@pytest.mark.parametrize("theirs", [50, 70, 90])
@pytest.mark.parametrize("form", FORMATS)
def test_the_second_of_two_runs_is_refused(form: str, theirs: int, tmp_path: Path) -> None:
    """Both read the same records, or some of them; the first one's commit is the table."""
    log = log_of(200)
    table = KeyedTable(place_of(tmp_path, form), log, file_bytes=300)
    table.batch(dict.fromkeys(log, 40))
    other = KeyedTable(table.location, log, file_bytes=300)
    table.between = lambda: other.batch(dict.fromkeys(log, theirs))
    with pytest.raises(TableRefused, match="another process archives into this table"):
        table.batch(dict.fromkeys(log, 70))
    table.rows.reload()
    assert {table.end(it) for it in log} == {theirs}
    table.between = None
    table.batch({it: len(those) for it, those in log.items()})
    check(table.location, 200)


@pytest.mark.parametrize("form", FORMATS)
def test_files_of_another_program_are_taken_over(form: str, tmp_path: Path) -> None:
    """Whose rows are in no order, and of which nothing says which keys they hold."""
    log = log_of(200)
    table = KeyedTable(place_of(tmp_path, form), log, file_bytes=300)
    table.batch(dict.fromkeys(log, 40))
    if form == "delta":
        from deltalake import DeltaTable

        DeltaTable(table.location.partition(":")[2]).optimize.compact()
        table.rows.reload()
    else:
        snapshot = table.rows.snapshot
        files = table.rows.table.files(snapshot)
        new = table.shuffled(files)
        table.rows.table.commit(snapshot, Change("merge", new, files))
        table.rows.reload()
    table.batch({it: len(those) for it, those in log.items()})
    check(table.location, 200)

"""Several processes on one table, and processes that die."""

import random
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from odradek.pipelines.tables.table import TableExists
from tests.pipelines.mortal import processes
from tests.pipelines.tables import archiver
from tests.pipelines.tables.lake import FORMATS, Lake, expected

KILLS = {"delta": 10, "iceberg": 4, "parquet": 10}  # a commit of Iceberg costs ten times as much


@pytest.mark.parametrize("name", FORMATS)
def test_writers_at_once_lose_and_double_nothing(name: str, tmp_path: Path) -> None:
    """Two archivers, a backfill and a merge: each commits on what it has seen, or repeats."""
    location = f"{name}:{tmp_path}/{name}"
    end = {"delta": 60, "iceberg": 20, "parquet": 60}[name]
    running = [
        processes.Process(target=target, args=(location, end))
        for target in (archiver.archive, archiver.archive, archiver.backfill, archiver.merge)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * len(running)
    assert Lake(location).rows() == expected(end)


@pytest.mark.parametrize("name", FORMATS)
def test_an_archiver_killed_anywhere_goes_on_where_it_was(name: str, tmp_path: Path) -> None:
    """Whatever step the process died at, the next finds rows and ends that belong together."""
    said = tmp_path / "calls"
    run_process(archiver.archive, f"{name}:{tmp_path}/whole", 30, None, str(said))
    calls = int(said.read_text())
    location = f"{name}:{tmp_path}/{name}"
    chance = random.Random(name)
    deaths, kills = 0, KILLS[name]
    for number in range(kills):
        kill_at = chance.randrange(1, calls)
        deaths += (
            run_process(archiver.archive, location, (number + 2) * 20, kill_at) == -signal.SIGKILL
        )
    assert deaths >= kills // 2
    assert run_process(archiver.archive, location, (kills + 2) * 20) == 0
    assert Lake(location).rows() == expected((kills + 2) * 20)


def test_a_catalog_that_several_make_at_once(tmp_path: Path) -> None:
    """Each of them has it."""
    together = Barrier(4)

    def opened(number: int) -> str:
        together.wait()
        return Lake(f"iceberg:{tmp_path}/{number}").location

    with ThreadPoolExecutor(together.parties) as threads:
        for number in range(10):
            assert len(set(threads.map(opened, [number] * together.parties))) == 1


@pytest.mark.parametrize("name", FORMATS)
def test_a_table_that_several_make_at_once(name: str, tmp_path: Path) -> None:
    """One makes it, and the namespace of its catalog; the others are told that there is one."""
    together = Barrier(4)

    def created(lake: Lake) -> bool:
        together.wait()
        try:
            lake.create()
        except TableExists:
            return False
        return True

    with ThreadPoolExecutor(together.parties) as threads:
        for number in range(10):
            lakes = [Lake(f"{name}:{tmp_path}/{number}/") for _ in range(together.parties)]
            assert sorted(threads.map(created, lakes)) == [False, False, False, True]


def run_process(target: object, *arguments: object) -> int | None:
    """The exit code of a process that does this."""
    process = processes.Process(target=target, args=arguments)  # type: ignore[arg-type]
    process.start()
    process.join()
    return process.exitcode

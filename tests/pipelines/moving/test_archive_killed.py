"""Archivers that are killed at any step, or run beside each other: every record once."""

import random
import signal
from pathlib import Path

import pytest

from tests.pipelines.mortal import processes
from tests.pipelines.moving import archiver
from tests.pipelines.moving.archiver import check_numbers
from tests.pipelines.topics import Topics

PARTITIONS = 3
AT_ROWS = 3  # each commit calls two functions of this name, and dead letters come first
KILLS = {"delta": 16, "iceberg": 6, "parquet": 16}


def fill(topics: Topics, topic: str, count: int, first: int = 0) -> None:
    """So many numbers, to all partitions in turn."""
    numbers = range(first, first + count)
    topics.fill(topic, [{"value": b"%d" % it, "partition": it % PARTITIONS} for it in numbers])


@pytest.mark.parametrize("name", ["delta", "iceberg", "parquet"])
def test_killed_at_any_step_it_goes_on(topics: Topics, tmp_path: Path, name: str) -> None:
    """Between task, table of dead letters, table of rows: neither table lacks or doubles one."""
    topic = topics.make(partitions=PARTITIONS)
    count = 200
    fill(topics, topic, count)
    said = tmp_path / "calls"
    whole = f"{name}:{tmp_path}/whole"
    assert lived(topics.bootstrap, topic, whole, None, str(said)) == 0
    check_numbers(whole, count)
    chance = random.Random(name)
    lake, deaths = f"{name}:{tmp_path}/t", 0
    for _ in range(KILLS[name]):
        kill_at = chance.randrange(1, int(said.read_text()) // 3)
        deaths += lived(topics.bootstrap, topic, lake, kill_at) == -signal.SIGKILL
        fill(topics, topic, 30, count)
        count += 30
    assert deaths > KILLS[name] // 2
    assert lived(topics.bootstrap, topic, lake) == 0
    check_numbers(lake, count)


@pytest.mark.parametrize("name", ["delta", "iceberg", "parquet"])
def test_killed_between_the_two_tables(topics: Topics, tmp_path: Path, name: str) -> None:
    """Dead letters are committed, rows are not, and the topic grows before the next run."""
    topic = topics.make(partitions=PARTITIONS)
    lake = f"{name}:{tmp_path}/t"
    count = 0
    for _ in range(3):
        fill(topics, topic, 30, count)
        count += 30
        killed = lived(topics.bootstrap, topic, lake, AT_ROWS, "", "append")
        assert killed == -signal.SIGKILL
    assert lived(topics.bootstrap, topic, lake) == 0
    check_numbers(lake, count)


@pytest.mark.parametrize("name", ["delta", "parquet"])
def test_two_archivers_cannot_double_a_row(topics: Topics, tmp_path: Path, name: str) -> None:
    """What one has committed the other is refused; both end, and the table is right."""
    topic = topics.make(partitions=PARTITIONS)
    fill(topics, topic, 1_000)
    lake = f"{name}:{tmp_path}/t"
    running = [
        processes.Process(target=archiver.run, args=(topics.bootstrap, topic, lake))
        for _ in range(2)
    ]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0, 0]
    check_numbers(lake, 1_000)


def lived(*arguments: object) -> int | None:
    """How a process ended."""
    process = processes.Process(target=archiver.run, args=arguments)
    process.start()
    process.join()
    return process.exitcode

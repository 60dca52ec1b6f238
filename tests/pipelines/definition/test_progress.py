"""What a run shows of itself, as Prometheus reads it."""

import re
import time
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from odradek.model.ids import TopicPartition
from odradek.pipelines.definition.progress import Figures, served
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.reports import Account, BatchReport
from odradek.pipelines.positions import Positions, TopicPositions

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
SAMPLE = re.compile(r"(?P<name>\w+)\{(?P<labels>[^}]*)\} (?P<value>[\d.]+)")


def positions(*offsets: int) -> Positions:
    """Of a topic of two partitions."""
    return Positions("c", {"t": TopicPositions("id", dict(enumerate(offsets)))})


def report(number: int, account: Account, newest_ms: dict[TopicPartition, int]) -> BatchReport:
    """A batch that leaves 5 records of the second partition."""
    return BatchReport(
        number, number, account, 2, positions(0, 0), positions(10, 5), positions(10, 10),
        newest_ms, 1_500,
    )  # fmt: skip


def test_batches_are_counted_and_partitions_told_apart() -> None:
    """Counters of the whole run, lag and freshness of each partition, with a type for each."""
    figures = Figures("orders")
    now_ms = int(time.time() * 1_000)
    figures(report(1, Account(10, 7, 2, 1, 500), {FIRST: now_ms - 60_000, SECOND: now_ms}))
    figures(report(2, Account(5, 5, 0, 0, 100), {SECOND: now_ms - 5_000}))
    lines = figures.text().splitlines()
    found = {
        (it["name"].removeprefix("odradek_pipeline_"), it["labels"]): float(it["value"])
        for it in map(SAMPLE.fullmatch, lines)
        if it
    }
    run = 'pipeline="orders"'
    counted = {name: value for (name, labels), value in found.items() if labels == run}
    assert counted == {
        "records_read_total": 15,
        "rows_written_total": 12,
        "records_dropped_total": 2,
        "dead_letters_total": 1,
        "written_bytes_total": 600,
        "changed_bytes_total": 0,
        "batches_total": 2,
        "files_total": 4,
        "offsets_skipped_total": 0,
        "batch_seconds": 1.5,
    }
    first, second = (f'{run},topic="t",partition="{it}"' for it in (0, 1))
    assert (found["lag", first], found["lag", second]) == (0, 5)
    assert found["freshness_seconds", first] - found["freshness_seconds", second] >= 60
    typed = {line.split()[2] for line in lines if line.startswith("# TYPE")}
    assert typed == {f"odradek_pipeline_{name}" for name, _ in found}


def test_they_are_served_while_the_run_lasts() -> None:
    """At /metrics and nowhere else; the port is free again afterwards."""
    with served(Figures("orders"), "127.0.0.1", 0) as port:
        with urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert b"odradek_pipeline_batches_total" in answer.read()
        with pytest.raises(HTTPError, match="404"):
            urlopen(f"http://127.0.0.1:{port}/", timeout=10)
        with (
            pytest.raises(PipelineError, match=r"cannot be served at 127\.0\.0\.1:"),
            served(Figures("orders"), "127.0.0.1", port),
        ):
            pass
    with pytest.raises(OSError, match="refused"):
        urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10)

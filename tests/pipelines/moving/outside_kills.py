"""Archives that are killed from outside, at any moment, and what every reader then finds.

`python -m tests.pipelines.moving.outside_kills --kills 50` kills each kind so often, or with
`--only iceberg-json` one; CI does it ten times. The process that is killed runs all of an archive
but Spark itself, with small batches, and merges files meanwhile.
"""

import argparse
import random
import signal
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds
from deltalake import DeltaTable

from odradek.pipelines.formats.changes import Changes
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse
from odradek.pipelines.moving.archiving.archive import Archive, archive
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable
from odradek.pipelines.moving.archiving.triggers import Continuous, Once
from odradek.pipelines.tables.location import open_table
from odradek.pipelines.tables.table import NoSuchTable
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.duck import rows_of
from tests.pipelines.mortal import processes
from tests.pipelines.moving.archives import archive_of, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics

KINDS: Final = ("raw", "json")
FORMATS: Final = ("delta", "iceberg", "parquet")
UPSERT: Final = "upsert"
CASES: Final = (
    *((form, kind) for form in FORMATS for kind in KINDS),
    ("delta", UPSERT),
    ("iceberg", UPSERT),
)
KEYS: Final = 100
"""Of upserts; each in one partition."""
PARTITIONS: Final = 2
BATCH: Final = 40
FILLED: Final = 160
"""For each life: more than one commits before it is killed, so something waits for the next."""
LOOK_SECONDS: Final = 0.002
MOMENT_SECONDS: Final = 0.1
VERSIONS: Final = {
    "delta": "_delta_log/*.json",
    "iceberg": "**/*.metadata.json",
    "parquet": "_odradek/*.json",
}

Places = list[tuple[int, int]]
"""Partitions and offsets."""


@dataclass(frozen=True)
class Case:
    """One archive."""

    bootstrap: str
    topic: str
    lake: str
    kind: str


def job_of(case: Case, *, once: bool) -> Archive:
    """Small batches, but what is left at the end; small files are merged every ten."""
    options = {} if once else {"maxOffsetsPerTrigger": BATCH}
    job = archive_of(case.bootstrap, case.topic, case.lake, options=options, merge_after=10)
    if case.kind == "raw":
        return job
    values = JsonValues((("n", parse("long")), ("key", parse("long")), ("text", parse("string"))))
    job = replace(job, values=values, dead_letters=DeadLetterTable(f"{case.lake}-dead"))
    if case.kind != UPSERT:
        return job
    return replace(job, values=Changes(values, ("key",)), keys=("key",), file_bytes=2_000)


def run(case: Case, *, once: bool) -> None:
    """The whole life of a process."""
    archive(LocalSpark(), job_of(case, once=once), Once() if once else Continuous())


def killed(case: Case, chance: random.Random) -> None:
    """One that lives for some commits, and then for a moment."""
    enough = _versions(case.lake) + chance.randrange(1, FILLED // BATCH // 2)
    process = processes.Process(target=run, args=(case,), kwargs={"once": False})
    process.start()
    while _versions(case.lake) < enough:
        process.join(LOOK_SECONDS)
        assert process.exitcode is None, process.exitcode
    process.join(chance.uniform(0, MOMENT_SECONDS))
    process.kill()
    process.join()
    assert process.exitcode == -signal.SIGKILL


def _versions(lake: str) -> int:
    form, _, place = lake.partition(":")
    return len(list(Path(place).glob(VERSIONS[form])))


def fill(topics: Topics, topic: str, first: int) -> None:
    """JSON of numbers, to the partitions in turn; each seventh is none."""
    numbers = range(first, first + FILLED)
    values = [
        b"none" if it % 7 == 0 else b'{"n": %d, "key": %d, "text": "of %d"}' % (it, it % KEYS, it)
        for it in numbers
    ]
    rows = zip(numbers, values, strict=True)
    topics.fill(topic, [{"value": it, "partition": at % PARTITIONS} for at, it in rows])


def truth(count: int, kind: str) -> Places:
    """Where the records are that give rows."""
    numbers = (it for it in range(count) if kind == "raw" or it % 7)
    return sorted((it % PARTITIONS, it // PARTITIONS) for it in numbers)


def last_of_keys(count: int, ends: Mapping[int, int]) -> Places:
    """Where the last record of each key is that is in a table with these ends."""
    found: dict[int, tuple[int, int]] = {}
    for it in range(count):
        partition, offset = it % PARTITIONS, it // PARTITIONS
        if it % 7 and offset < ends.get(partition, 0):
            found[it % KEYS] = partition, offset
    return sorted(found.values())


def _ends(lake: str) -> Mapping[int, int]:
    (topic,) = open_table(lake).load().positions.topics.values()
    return topic.offsets


def readers(lake: str, kind: str) -> Iterator[tuple[str, Callable[[], Places]]]:
    """Ours, and those that know nothing of us."""
    form, _, place = lake.partition(":")
    names = [f"{'' if kind == 'raw' else '_'}{it}" for it in ("partition", "offset")]

    def of(rows: list[dict[str, Any]]) -> Places:
        return sorted((row[names[0]], row[names[1]]) for row in rows)

    def of_duckdb() -> Places:
        return sorted(rows_of(lake).project(", ".join(f'"{it}"' for it in names)).fetchall())

    def of_iceberg() -> Places:
        table: Any = open_table(lake)
        table.load()
        return of(table._table.scan().to_arrow().to_pylist())

    if kind == "raw":
        yield "ours", lambda: [row[:2] for row in rows_in(lake)]
    yield "duckdb", of_duckdb
    if form == "delta":
        yield "deltalake", lambda: of(DeltaTable(place).to_pyarrow_table(columns=names).to_pylist())
    elif form == "iceberg":
        yield "pyiceberg", of_iceberg
    else:
        yield "pyarrow", lambda: of(ds.dataset(place).to_table(columns=names).to_pylist())


def check(lake: str, kind: str, count: int, *, is_over: bool) -> None:
    """Each reader finds no row twice, and none that is none; at the end all of them."""
    try:
        open_table(lake).load()  # finishes what the dead one left: a reader may miss rows till then
    except NoSuchTable:
        assert not is_over
        return
    is_upsert = kind == UPSERT and _has_rows(lake)
    whole = last_of_keys(count, _ends(lake)) if is_upsert else truth(count, kind)
    for name, read in readers(lake, kind) if is_over or _has_rows(lake) else ():
        found = read()
        assert len(set(found)) == len(found), (name, "twice")
        assert set(found) <= set(whole), (name, "no record")
        assert not (is_over or is_upsert) or found == whole, (name, len(found), len(whole))


def _has_rows(lake: str) -> bool:
    table = open_table(lake)
    return bool(table.files(table.load()))


def kill_often(topics: Topics, case: Case, kills: int) -> None:
    """At moments that the seed says, more or less: the machine has its own."""
    chance = random.Random(f"{case.lake.partition(':')[0]} {case.kind} {kills}")
    count = 0
    for _ in range(kills):
        fill(topics, case.topic, count)
        count += FILLED
        killed(case, chance)
        check(case.lake, case.kind, count, is_over=False)
    process = processes.Process(target=run, args=(case,), kwargs={"once": True})
    process.start()
    process.join()
    assert process.exitcode == 0
    check(case.lake, case.kind, count, is_over=True)
    if case.kind == UPSERT:
        assert set(_ends(case.lake).values()) == {count // PARTITIONS}
    if case.kind != "raw":
        letters = [row[:2] for row in rows_in(f"{case.lake}-dead")]
        assert sorted([*letters, *truth(count, "json")]) == truth(count, "raw")


def main() -> None:
    """Each kind and format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--only", choices=[f"{form}-{kind}" for form, kind in CASES])
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        broker = OdradekBroker(Path(folder) / "broker")
        broker.start()
        for form, kind in CASES:
            if chosen.only not in {None, f"{form}-{kind}"}:
                continue
            topics = Topics(broker.bootstrap, f"{form}-{kind}")
            topic = topics.make(partitions=PARTITIONS)
            lake = f"{form}:{folder}/{form}-{kind}"
            kill_often(topics, Case(broker.bootstrap, topic, lake, kind), chosen.kills)
            print(
                f"{form} {kind}: {chosen.kills} kills, every reader equal to the truth", flush=True
            )
        broker.stop()


if __name__ == "__main__":
    main()

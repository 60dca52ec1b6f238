"""Many topics in one run, a table each."""

import re
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipelines.definition.definition import Definition, parse
from odradek.pipelines.definition.sections import WrongFile
from odradek.pipelines.definition.topics import chosen, of_each, of_topic
from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.moving.archiving import many
from odradek.pipelines.moving.archiving.archive import Archive
from odradek.pipelines.moving.archiving.many import TablesFailed, archive_each
from odradek.pipelines.moving.archiving.triggers import Continuous, Once
from odradek.pipelines.moving.reports import Account, BatchReport
from odradek.pipelines.moving.values import RAW, Converted
from tests.pipelines.moving.archives import batches_in, rows_in
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics

SPARK = LocalSpark()


def pipeline(topics: Topics, folder: Path, location: str, **more: Any) -> Definition:
    """Of all topics of the test."""
    pattern = rf"{re.escape(prefix(topics))}\.(first|other)"
    source = {"bootstrap-server": topics.bootstrap, "pattern": pattern}
    content = {"name": "p", "source": source, "table": {"location": location}, **more}
    return parse(content, folder)


def prefix(topics: Topics) -> str:
    """What the names of the test's topics begin with."""
    return topics._prefix


def jobs_of(definition: Definition) -> many.Jobs:
    """As the command makes them."""

    def job(one: Definition) -> Archive:
        return one.archive

    return lambda: {name: partial(job, it) for name, it in of_each(definition).items()}


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_each_topic_has_a_table(topics: Topics, tmp_path: Path, form: str) -> None:
    """Also one that the pattern finds later; the dead letters of all may share one."""
    location = f"{form}:lake/{{topic}}/"
    letters = {"dead-letters": {"table": "delta:dead"}, "values": {"format": "json"}}
    definition = pipeline(topics, tmp_path, location, **letters)
    first, other = topics.make("first"), f"{prefix(topics)}.other"
    topics.fill(first, [{"value": b'{"a": 1}'}, {"value": b"none"}])
    done = archive_each(SPARK, jobs_of(definition), Once())
    assert done == Account(2, 1, 0, 1, done.bytes)
    topics.make("other")
    topics.fill(other, [{"value": b"none"}, {"value": b'{"b": "x"}'}, {"value": b'{"b": "y"}'}])
    assert archive_each(SPARK, jobs_of(definition), Once()).read == 3
    assert sorted(it.name for it in (tmp_path / "lake").iterdir()) == [first, other]
    rows = batches_in(of_topic(definition, other).archive.table)
    assert sum(it.num_rows for it in rows) == 2
    assert len(rows_in(f"delta:{tmp_path}/dead")) == 2


def test_one_table_that_fails_does_not_stop_the_others(topics: Topics, tmp_path: Path) -> None:
    """It is named at the end, with what is wrong; once that is mended, it catches up."""
    definition = pipeline(topics, tmp_path, "delta:lake/{topic}")
    first, other = topics.make("first"), topics.make("other")
    for it in first, other:
        topics.fill_numbers(it, 5)
    (tmp_path / "lake" / first / "_delta_log").mkdir(parents=True)
    wrong = tmp_path / "lake" / first / "_delta_log" / f"{0:020d}.json"
    wrong.write_text('{"protocol": {"minReaderVersion": 9, "minWriterVersion": 9}}')
    with pytest.raises(TablesFailed, match=rf"1 of 2 tables .*: {first}: the table needs Delta"):
        archive_each(SPARK, jobs_of(definition), Once())
    assert len(rows_in(f"delta:{tmp_path}/lake/{other}")) == 5
    heard: list[BatchReport] = []
    stopping, batch = Event(), Event()

    def hear(report: BatchReport) -> None:
        heard.append(report)
        batch.set()

    running = Thread(
        target=archive_each,
        args=(SPARK, jobs_of(definition), Continuous()),
        kwargs={"on_batch": hear, "stopping": stopping},
    )
    running.start()
    topics.fill_numbers(other, 5)
    batch.wait()
    batch.clear()
    wrong.unlink()
    batch.wait()
    stopping.set()
    running.join()
    assert [sorted(it.end.topics) for it in heard] == [[other], [first]]
    assert len(rows_in(f"delta:{tmp_path}/lake/{first}")) == 5


@dataclass(frozen=True)
class Broken:
    """A format that has a mistake as long as there is a file."""

    file: Path

    prefix = ""
    may_grow = False

    @property
    def schema(self) -> pa.Schema:
        """It is asked for when a table is made."""
        if self.file.exists():
            raise KeyError("a mistake")
        return RAW.schema

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """As it is."""
        return RAW.convert(batch, table)


def with_mistakes(definition: Definition, file: Path, *names: str) -> many.Jobs:
    """As `jobs_of`, with the broken format for these topics."""

    def job(one: Definition, name: str) -> Archive:
        return replace(one.archive, values=Broken(file)) if name in names else one.archive

    return lambda: {name: partial(job, it, name) for name, it in of_each(definition).items()}


def test_a_mistake_that_one_table_meets(topics: Topics, tmp_path: Path) -> None:
    """What is no error of ours stops the others as little; it is named, and tried again."""
    definition = pipeline(topics, tmp_path, "delta:lake/{topic}")
    first, other = topics.make("first"), topics.make("other")
    for it in first, other:
        topics.fill_numbers(it, 5)
    file = tmp_path / "mistake"
    file.touch()
    jobs = with_mistakes(definition, file, first)
    with pytest.raises(TablesFailed, match=rf"1 of 2 tables .*: {first}: KeyError: 'a mistake'"):
        archive_each(SPARK, jobs, Once())
    assert len(rows_in(f"delta:{tmp_path}/lake/{other}")) == 5
    topics.fill_numbers(other, 5)
    stopping, heard = Event(), []

    def hear(report: BatchReport) -> None:
        heard.append(sorted(report.end.topics))
        file.unlink(missing_ok=True)  # the mistake is mended once the other went on
        if len(heard) == 2:
            stopping.set()

    archive_each(SPARK, jobs, Continuous(), on_batch=hear, stopping=stopping)
    assert heard == [[other], [first]]


def test_a_mistake_that_all_tables_meet(topics: Topics, tmp_path: Path) -> None:
    """Nothing goes on that could: the run ends with it."""
    definition = pipeline(topics, tmp_path, "delta:lake/{topic}")
    names = [topics.make("first"), topics.make("other")]
    for it in names:
        topics.fill_numbers(it, 5)
    file = tmp_path / "mistake"
    file.touch()
    with pytest.raises(KeyError, match="a mistake"):
        archive_each(SPARK, with_mistakes(definition, file, *names), Continuous())


def test_two_topics_with_one_name_in_a_catalog(topics: Topics, tmp_path: Path) -> None:
    """A catalog has no dots in the name of a table: what would mix is refused."""
    source = {"bootstrap-server": topics.bootstrap, "topics": ["a.b", "a-c"]}
    content = {"name": "p", "source": source, "table": {"location": "iceberg:c.n.{topic}"}}
    definition = parse(content, tmp_path)
    assert of_topic(definition, "a.b").archive.table == "iceberg:c.n.a_b"
    names = [topics.make(it) for it in ("a.b", "a-b")]
    content["source"] = {"bootstrap-server": topics.bootstrap, "topics": names}
    with pytest.raises(PipelineError, match=r"would have one table, iceberg:c\.n\.\w+a_b"):
        of_each(parse(content, tmp_path))


def test_a_verb_that_works_on_one_table(topics: Topics, tmp_path: Path) -> None:
    """It is told which, where there are several, and is not where there is one."""
    definition = pipeline(topics, tmp_path, "delta:lake/{topic}")
    with pytest.raises(InvalidOption, match="--topic NAME"):
        chosen(definition, None)
    assert chosen(definition, "t").archive.table == f"delta:{tmp_path}/lake/t"
    one = pipeline(topics, tmp_path, "delta:lake/one")
    assert chosen(one, None) is one
    with pytest.raises(InvalidOption, match="one table"):
        chosen(one, "t")


def test_braces_that_stand_for_nothing(topics: Topics, tmp_path: Path) -> None:
    """No table has a brace in its name by mistake."""
    for location in "delta:lake/{topics}", "delta:lake/{topic", "delta:{topic}}":
        with pytest.raises(WrongFile, match="stands for a topic"):
            pipeline(topics, tmp_path, location)
    letters = {"dead-letters": {"table": "delta:dead/{topic}"}}
    with pytest.raises(WrongFile, match="has none"):
        pipeline(topics, tmp_path, "delta:lake/t", **letters)

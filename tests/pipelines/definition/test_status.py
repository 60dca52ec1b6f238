"""`status` is true where a run would stop, too."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition

from odradek.model.units import Millis
from odradek.pipelines.definition.definition import Definition, parse
from odradek.pipelines.definition.status import status, statuses
from odradek.pipelines.definition.topics import of_each
from odradek.pipelines.errors import Away
from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.source.options import Selection
from odradek.pipelines.tables.table import DamagedLog
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.tables.lake import FORMATS
from tests.pipelines.topics import Topics, now_ms

SPARK = LocalSpark()


def pipeline(
    bootstrap: str,
    topic: str,
    folder: Path,
    *,
    location: str = "delta:t",
    options: Mapping[str, str] | None = None,
    **more: Any,
) -> Definition:
    """Raw records into a table beside."""
    source = {
        "bootstrap-server": bootstrap,
        "topics": topic.split(","),
        "kafka": {"default.api.timeout.ms": 3_000},
    }
    table = {"location": location, "options": dict(options or {})}
    return parse({"name": "p", "source": source, "table": table, **more}, folder)


def hurried(definition: Definition) -> Definition:
    """It gives up soon where nobody is there."""
    source = definition.archive.source
    client = replace(source.client, patience_ms=Millis(200))
    archived = replace(definition.archive, source=replace(source, client=client))
    return replace(definition, archive=archived)


def an_hour_old(count: int) -> list[dict[str, Any]]:
    """Rows whose records were written then."""
    return [{"value": b"n", "timestamp": now_ms() - 3_600_000}] * count


def test_a_topic_that_was_made_again(topics: Topics, tmp_path: Path) -> None:
    """The table has nothing of the new one, whatever its offsets are."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path)
    archive(SPARK, definition.archive, Once())
    found = status(definition)
    assert (found.lag, found.rows, found.standstills) == (0, 20, ())
    topics.delete(topic)
    topics.make()
    topics.fill(topic, an_hour_old(12))
    found = status(definition)
    assert (found.lag, found.rows) == (12, 20)
    assert found.waiting_seconds >= 3_600
    (sentence,) = found.standstills
    assert "deleted and created again" in sentence


def test_a_topic_whose_retention_overtook_the_table(topics: Topics, tmp_path: Path) -> None:
    """What is gone is said with its offsets; what is there still is waiting."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path)
    archive(SPARK, definition.archive, Once())
    topics.fill(topic, an_hour_old(20))
    for future in topics.admin.delete_records([TopicPartition(topic, 0, 30)]).values():
        future.result()
    found = status(definition)
    assert (found.lag, found.rows) == (20, 20)
    assert found.waiting_seconds >= 3_600
    (sentence,) = found.standstills
    assert "offset 20" in sentence
    assert "30" in sentence


def test_a_topic_that_is_gone_and_brokers_that_are_away(tmp_path: Path) -> None:
    """The lag is not known, and that is said; the table's figures are there."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "status")
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    definition = pipeline(topics.bootstrap, topic, tmp_path)
    archive(SPARK, definition.archive, Once())
    topics.delete(topic)
    found = status(definition)
    assert (found.lag, found.rows) == (None, 20)
    assert "does not exist" in found.standstills[0]
    broker.stop()
    found = status(hurried(definition))
    assert (found.lag, found.rows) == (None, 20)
    assert "could be reached" in found.standstills[0]


def damage(form: str, folder: Path) -> str:
    """The newest file of the table's metadata becomes half of it; its name."""
    pattern = {"delta": "_delta_log/*.json", "parquet": "_odradek/*.json"}
    files = (folder / "t").glob(pattern.get(form, "**/*.metadata.json"))
    last = max(files, key=lambda it: (it.stat().st_mtime_ns, it.name))
    last.write_bytes(last.read_bytes()[:40])
    return last.name


@pytest.mark.parametrize("form", FORMATS)
def test_a_log_that_is_damaged(topics: Topics, tmp_path: Path, form: str) -> None:
    """What it said is not known, which is not nothing; the file is named. All else is told."""
    topic = topics.make()
    topics.fill(topic, [{"value": b"1"}, {"value": b"{}"}])
    letters = {"dead-letters": {"table": "delta:dead"}, "values": {"format": "json"}}
    definition = pipeline(topics.bootstrap, topic, tmp_path, location=f"{form}:t/", **letters)
    archive(SPARK, definition.archive, Once())
    name = damage(form, tmp_path)
    found = status(definition)
    assert (found.exists, found.rows, found.files, found.lag) == (True, None, None, None)
    assert found.dead_letters == 1
    (fault,) = found.faults
    assert isinstance(fault, DamagedLog)
    assert name in str(fault) or form == "iceberg"
    assert "restore" in str(fault)


@pytest.mark.parametrize("form", ["delta", "parquet"])
def test_a_log_without_its_beginning(topics: Topics, tmp_path: Path, form: str) -> None:
    """It is no table that is not there yet: the next run would make one beside its rows."""
    topic = topics.make()
    topics.fill_numbers(topic, 3)
    definition = pipeline(topics.bootstrap, topic, tmp_path, location=f"{form}:t")
    archive(SPARK, definition.archive, Once())
    (first,) = (tmp_path / "t").glob(f"_*/{0:020d}.json")
    first.unlink()
    found = status(definition)
    assert found.exists
    assert f"{first.name} is not there" in found.standstills[0]
    with pytest.raises(DamagedLog):
        archive(SPARK, definition.archive, Once())


def test_manifests_that_are_gone(topics: Topics, tmp_path: Path) -> None:
    """How far the table is its metadata says still; how many rows it has, nobody."""
    topic = topics.make()
    topics.fill_numbers(topic, 3)
    definition = pipeline(topics.bootstrap, topic, tmp_path, location="iceberg:t/")
    archive(SPARK, definition.archive, Once())
    for file in (tmp_path / "t").rglob("*.avro"):
        file.unlink()
    found = status(definition)
    assert (found.lag, found.rows) == (0, None)
    assert isinstance(found.faults[0], DamagedLog)


def test_a_table_of_dead_letters_that_is_damaged(topics: Topics, tmp_path: Path) -> None:
    """How many there are is not known; the rows are."""
    topic = topics.make()
    topics.fill(topic, [{"value": b"1"}, {"value": b"{}"}])
    letters = {"dead-letters": {"table": "delta:t"}, "values": {"format": "json"}}
    definition = pipeline(topics.bootstrap, topic, tmp_path, location="delta:rows", **letters)
    archive(SPARK, definition.archive, Once())
    damage("delta", tmp_path)
    found = status(definition)
    assert (found.rows, found.lag, found.dead_letters) == (1, 0, None)
    assert isinstance(found.faults[0], DamagedLog)


@pytest.mark.parametrize(
    ("location", "options"),
    [
        ("iceberg:c.n.t", {"type": "rest", "uri": "http://127.0.0.1:9"}),
        ("iceberg:c.n.t", {"type": "sql", "uri": "sqlite:////nowhere/catalog.db"}),
    ],
)
def test_a_catalog_that_is_away(
    topics: Topics, tmp_path: Path, location: str, options: dict[str, str]
) -> None:
    """The table may be there, and the run waits: so it is said."""
    topic = topics.make()
    definition = pipeline(topics.bootstrap, topic, tmp_path, location=location, options=options)
    found = status(definition)
    assert (found.exists, found.rows, found.lag) == (True, None, None)
    assert [type(it) for it in found.faults] == [Away]


def test_brokers_that_are_away_with_a_table_for_each_topic(tmp_path: Path) -> None:
    """Those that have a table are told, by a pattern, too; that there may be others is said."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "each")
    names = sorted(topics.make(it) for it in ("a", "b"))
    for name in names:
        topics.fill_numbers(name, 5)
    (tmp_path / "lake" / "no-topic").mkdir(parents=True)
    named = pipeline(broker.bootstrap, ",".join(names), tmp_path, location="delta:lake/{topic}")
    selection = Selection(pattern=r"each\..*")
    source = replace(named.archive.source, selection=selection)
    found_by_pattern = replace(named, archive=replace(named.archive, source=source))
    for one in of_each(found_by_pattern).values():
        archive(SPARK, one.archive, Once())
    broker.stop()
    for it in named, found_by_pattern:
        found = statuses(hurried(it))
        assert isinstance(found.fault, Away)
        told = [(one.archive.table, status.rows, status.lag) for one, status in found.each]
        assert told == [(f"delta:{tmp_path}/lake/{name}", 5, None) for name in names]
        assert all(status.faults == (found.fault,) for _, status in found.each), "asked once"

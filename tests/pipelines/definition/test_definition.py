"""What a pipeline's file may say, and how it is refused. Nothing here needs Spark."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from odradek.cli.spark.archive import trigger_of
from odradek.model.units import Millis
from odradek.pipelines.definition.definition import Definition, load, parse
from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable, DeadLetterTopic
from odradek.pipelines.moving.archiving.triggers import Continuous, Every, Once
from odradek.pipelines.source.points import OneTime, Time

LEAST: dict[str, Any] = {
    "name": "orders",
    "source": {"bootstrap-server": "localhost:9092", "topics": ["orders"]},
    "table": {"location": "delta:lake/orders"},
}


def read(**sections: Any) -> Definition:
    """The least that a file needs, with these sections."""
    return parse({**LEAST, **sections}, Path("/pipelines"))


def test_the_least_is_raw_from_the_beginning_and_continuous() -> None:
    """A local table lies relative to the file that names it."""
    found = read()
    assert found.archive.table == "delta:/pipelines/lake/orders"
    assert found.archive.values.prefix == ""
    assert found.archive.source.selection.topics == ("orders",)
    assert found.trigger == Continuous()


def test_all_that_a_file_can_say(tmp_path: Path) -> None:
    """Each key of the documents arrives where it has its effect."""
    file = tmp_path / "orders.toml"
    file.write_text(
        """
name = "orders"
[source]
bootstrap-server = "localhost:9092"
pattern = "orders-.*"
start = "-10m"
max-records = 1000
max-bytes = "64m"
[source.kafka]
"client.id" = "lake"
[values]
format = "json"
new-columns = false
[values.columns]
id = "long"
tags = "array<struct<name: string, weight: double>>"
at = "timestamp"
[expectations.has-id]
condition = "id is not null"
action = "dead-letter"
[expectations.recent]
condition = "at > '2020-01-01'"
action = "drop"
[dead-letters]
table = "parquet:dead"
[table]
location = "iceberg:lake"
partition-by = ["day(at)"]
file-size = "16m"
[trigger]
every = "30s"
[spark]
master = "local[2]"
[spark.conf]
"spark.ui.enabled" = false
"""
    )
    found = load(file)
    archive = found.archive
    tags = pa.list_(pa.struct([("name", pa.string()), ("weight", pa.float64())]))
    assert isinstance(archive.values, JsonValues)
    assert dict(archive.values.columns)["tags"] == tags
    assert not archive.values.may_grow
    assert [it.action for it in archive.checks] == ["dead-letter", "drop"]
    assert archive.source.starting == OneTime(Time(600_000, before_now=True), or_latest=True)
    assert archive.source.limits.offsets_max == 1_000
    assert archive.file_bytes == 16 << 20
    assert archive.dead_letters == DeadLetterTable(f"parquet:{tmp_path / 'dead'}")
    assert found.trigger == Every(30_000)  # type: ignore[arg-type]
    assert found.spark.conf == {"spark.ui.enabled": "false"}


def test_dead_letters_may_go_to_a_topic() -> None:
    """Which is one of the cluster that is read from."""
    found = read(**{"dead-letters": {"topic": "orders-dead"}})
    assert found.archive.dead_letters == DeadLetterTopic("orders-dead")


def test_once_is_a_trigger() -> None:
    """The run reads what is there when it begins, and ends."""
    assert read(trigger={"once": True}).trigger == Once()


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        ({"tabel": {}}, "there is no key 'tabel'; did you mean 'table'?"),
        ({"name": ""}, "name is missing"),
        ({"source": {"topics": ["a"]}}, "source.bootstrap-server is missing"),
        ({"source": {**LEAST["source"], "topic": "a"}}, "in [source]; did you mean 'topics'?"),
        ({"source": {**LEAST["source"], "pattern": "a"}}, "topics, or a pattern, and not both"),
        ({"source": {**LEAST["source"], "start": "soon"}}, "source.start must be earliest"),
        (
            {"source": {**LEAST["source"], "max-records": 0}},
            "source.max-records must be at least 1",
        ),
        ({"table": {"location": "lake"}}, "'lake' is no table"),
        ({"table": {"location": 7}}, "table.location must be a text, not 7"),
        ({"table": {"location": "delta:x", "partition-by": ["amount"]}}, "no column amount"),
        ({"values": {"format": "jason"}}, "did you mean 'json'?"),
        ({"values": {"format": "avro"}}, "values.registry is missing"),
        ({"values": {"format": "json", "columns": {"a": "lnog"}}}, "did you mean 'long'?"),
        (
            {"values": {"format": "json", "columns": {"a": "struct<b: long, B: long>"}}},
            "values.columns.a: field 'b' differs from 'B' in case only",
        ),
        (
            {"values": {"format": "json", "columns": {"a": "array<struct<b: long, b: int>>"}}},
            "values.columns.a: field 'b' is there more than once",
        ),
        (
            {"values": {"format": "json", "columns": {"a": "map<string, struct<b c: long>>"}}},
            "values.columns.a: field 'b c': names have no spaces",
        ),
        ({"expectations": {"a": {"action": "drop"}}}, "expectations.a.condition is missing"),
        ({"expectations": {"a": {"condition": "x", "action": "no"}}}, "fail, drop or dead-letter"),
        (
            {"expectations": {"a": {"condition": "x", "action": "dead-letter"}}},
            "expectations.a wants dead letters",
        ),
        ({"dead-letters": {"table": "delta:x", "topic": "y"}}, "both table and topic"),
        ({"trigger": {"once": True, "every": "1s"}}, "both once and every"),
        ({"trigger": {"every": "often"}}, "must be a duration"),
        ({"trigger": {"every": "0s"}}, "at most once a millisecond"),
        ({"spark": {"master": "local", "remote": "sc://x"}}, "both master and remote"),
    ],
)
def test_what_is_wrong_is_named(sections: dict[str, Any], sentence: str) -> None:
    """In one sentence, with the nearest name that has a meaning."""
    with pytest.raises(PipelineError) as refused:
        read(**sections)
    assert sentence in str(refused.value)


def test_a_file_that_is_no_toml_or_not_there(tmp_path: Path) -> None:
    """The sentence names the file and what is wrong with it."""
    for content in (b"name = ", b"\xff"):
        (tmp_path / "x.toml").write_bytes(content)
        with pytest.raises(PipelineError, match="is no TOML"):
            load(tmp_path / "x.toml")
    with pytest.raises(PipelineError, match="No such file"):
        load(tmp_path / "y.toml")


def test_a_pause_that_is_none() -> None:
    """On a command line it is refused as in a file: the run would ask without end."""
    for text in "0s", "0ms", "000h":
        with pytest.raises(InvalidOption, match="at most once a millisecond"):
            trigger_of(text, once=False)
    assert trigger_of("1ms", once=False) == Every(Millis(1))

"""`odradek pipeline` as a person uses it: one file, from the check to a backfill."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from tests.pipelines.topics import Topics

FILE = """
name = "orders-to-lake"

[source]
bootstrap-server = "{bootstrap}"
topics = ["{topic}"]

[values]
format = "json"
[values.columns]
id = "long"

[expectations.has-id]
condition = "id is not null"
action = "dead-letter"

[dead-letters]
table = "delta:dead"

[table]
location = "delta:rows"

[spark]
remote = "{remote}"
"""


def call(*arguments: object, code: int = 0, is_all: bool = False) -> str:
    """What the command prints: its rows or its errors, or both."""
    command = [sys.executable, "-m", "odradek", "pipeline", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, (done.stdout, done.stderr)
    assert "Traceback" not in done.stderr
    if is_all:
        return done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def told(*arguments: object) -> Any:
    """As JSON."""
    return json.loads(call(*arguments, "--json"))


@pytest.fixture
def file(topics: Topics, connect: str, tmp_path: Path) -> Path:
    """A pipeline of six records, one of which is bad."""
    topic = topics.make(partitions=1)
    values = [b'{"id": 1}', b'{"id": 2, "note": "x"}', b"bad", b'{"id": null}', b'{"id": 5}', None]
    topics.fill(topic, [{"value": it} for it in values])
    path = tmp_path / "orders.toml"
    path.write_text(FILE.format(bootstrap=topics.bootstrap, topic=topic, remote=connect))
    return path


def test_a_file_is_checked_tried_run_watched_and_repaired(
    topics: Topics, file: Path, tmp_path: Path
) -> None:
    """Each verb does what it says, and says what it did."""
    assert told("check", file)["table"] == f"delta:{tmp_path}/rows"
    shown = told("preview", file, "-n", 6)
    assert [it["row"] is not None for it in shown] == [True, True, False, False, True, False]
    assert "is no JSON" in shown[2]["reason"]
    assert "expectation 'has-id'" in shown[3]["reason"]
    assert not (tmp_path / "rows").exists()
    assert "is not there yet" in call("status", file, is_all=True)

    done = told("run", file, "--once")
    account = {"read": 6, "written": 3, "dropped": 1, "dead": 2, "skipped": 0}
    assert done == account | {"bytes": done["bytes"], "rewritten": None}
    found = told("status", file)
    assert (found["rows"], found["dead_letters"], found["lag"]) == (3, 2, 0)
    topic = found["partitions"][0]["topic"]
    reader = Consumer({"bootstrap.servers": topics.bootstrap, "group.id": "orders-to-lake"})
    (committed,) = reader.committed([TopicPartition(topic, 0)], timeout=20)
    reader.close()
    assert committed.offset == 6

    topics.fill(topic, [{"value": b'{"id": 7}'}])
    assert told("status", file)["lag"] == 1
    assert told("backfill", file, "--from", "earliest")["written"] == 3
    assert told("status", file)["rows"] == 3
    assert told("run", file, "--once")["read"] == 1

    assert told("redrive", file) == {"sent": 2}
    assert told("status", file)["dead_letters"] == 0
    assert told("run", file, "--once")["dead"] == 2

    assert "not done without --yes" in call("reset", file, code=2)
    assert told("reset", file, "--yes")["rows"] == 4
    assert told("status", file)["lag"] == 9
    assert told("run", file, "--once")["read"] == 9


def test_what_is_wrong_is_one_sentence(file: Path) -> None:
    """It names the key, and the nearest that has a meaning."""
    file.write_text(file.read_text().replace("[table]", "[tabel]"))
    assert "did you mean 'table'?" in call("check", file, code=1) + call("run", file, code=1)


def test_the_status_of_what_is_damaged_and_away(topics: Topics, tmp_path: Path) -> None:
    """It answers, truly, and each sentence names the command that helps."""
    topic = topics.make()
    topics.fill_numbers(topic, 3)
    path = tmp_path / "orders.toml"
    text = """
name = "p"
[source]
bootstrap-server = "{bootstrap}"
topics = ["{topic}"]
[source.kafka]
"default.api.timeout.ms" = 2000
[table]
location = "delta:lake/{{topic}}"
"""
    path.write_text(text.format(bootstrap=topics.bootstrap, topic=topic))
    log = tmp_path / "lake" / topic / "_delta_log"
    log.mkdir(parents=True)
    (log / f"{0:020d}.json").write_text('{"half')
    said = call("status", path, is_all=True)
    assert f"lake/{topic}:" in said
    assert "the next run stops: " in said
    assert "cannot be read" in said
    assert f"another table.location in {path}" in said
    assert "unknown rows, 0 dead letters, lag unknown" in said
    (found,) = told("status", path)
    assert (found["exists"], found["rows"], found["lag"]) == (True, None, None)
    path.write_text(text.format(bootstrap="127.0.0.1:9", topic=topic))
    said = call("status", path, is_all=True)
    assert "the next run waits: " in said
    assert "there may be other tables: " in said

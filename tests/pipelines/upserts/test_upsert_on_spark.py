"""Upserts with Spark, by the command: conditions, what is told of a run, and other readers."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.pipelines.duck import rows_of
from tests.pipelines.topics import Topics

FILE = """
name = "customers"
[source]
bootstrap-server = "{bootstrap}"
topics = ["{topic}"]
[values]
format = "json"
[values.columns]
id = "long"
n = "long"
[expectations.counts]
condition = "n >= 0"
action = "dead-letter"
[dead-letters]
table = "delta:dead"
[table]
location = "delta:rows"
mode = "upsert"
keys = ["id"]
"""


def typed(connect: str, *words: str) -> tuple[int, str]:
    """How a command ends, with a Spark Connect server, and what it says."""
    remote = ["--remote", connect] if connect else []
    command = [sys.executable, "-m", "odradek", *words, *remote]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_a_topic_of_changes_by_the_command(topics: Topics, connect: str, tmp_path: Path) -> None:
    """A condition is held against rows, not against deletes; status and verify know the mode."""
    topic = topics.make(partitions=2)
    file = tmp_path / "customers.toml"
    file.write_text(FILE.format(bootstrap=topics.bootstrap, topic=topic))
    rows: list[dict[str, Any]] = [
        {"key": b"%d" % it, "value": b'{"id": %d, "n": %d}' % (it, it), "partition": it % 2}
        for it in range(20)
    ]
    topics.fill(topic, rows)
    code, told = typed(connect, "pipeline", "run", str(file), "--once")
    assert code == 0, told
    more = [{"key": b"3", "value": None, "partition": 1}]
    more += [{"key": b"4", "value": b'{"id": 4, "n": -1}', "partition": 0}]
    more += [{"key": b"5", "value": b'{"id": 5, "n": 50}', "partition": 1}]
    topics.fill(topic, more)
    _, told = typed(connect, "pipeline", "run", str(file), "--once")
    assert "3 records read: 2 written, 0 dropped, 1 dead letter;" in told
    assert "bytes rewritten for each byte changed" in told
    found = sorted(rows_of(f"delta:{tmp_path}/rows").project("id, n").fetchall())
    assert found == [(it, 50 if it == 5 else it) for it in range(20) if it != 3]
    _, told = typed("", "pipeline", "status", str(file))
    assert "one row for each id; the last batch wrote" in told
    assert "19 rows in 1 file " in told
    code, told = typed(connect, "verify", "--pipeline", str(file))
    assert "23 records of the log, 19 rows of the table compared" in told
    assert code == 0
    code, told = typed(connect, "pipeline", "preview", str(file), "-n", "30")
    assert "n=19" in told
    assert "__op" not in told


def test_what_would_undo_is_refused(topics: Topics, connect: str, tmp_path: Path) -> None:
    """In a line, with the next step; nothing is changed in the table."""
    topic = topics.make()
    file = tmp_path / "customers.toml"
    file.write_text(FILE.format(bootstrap=topics.bootstrap, topic=topic))
    topics.fill(topic, [{"key": b"1", "value": json.dumps({"id": 1, "n": 1}).encode()}])
    assert typed(connect, "pipeline", "run", str(file), "--once")[0] == 0
    code, told = typed(connect, "pipeline", "redrive", str(file))
    assert (code, "would come behind newer ones" in told) == (1, True), told
    code, told = typed(connect, "pipeline", "backfill", str(file), "--from", "earliest")
    assert (code, "`odradek pipeline reset FILE`" in told) == (1, True), told

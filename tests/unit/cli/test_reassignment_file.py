"""The file of `kafka-reassign-partitions`: what is taken from it, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.kafka.log_dir_moves import State
from odradek.cli.replicas.reassignment_file import Plan, Replica, plan_of, text_of
from odradek.cli.words.failing import Failed
from odradek.model.ids import BrokerId, TopicPartition

ORDERS = TopicPartition("orders", 0)
ROW = {"topic": "orders", "partition": 0, "replicas": [1, 2]}
TWO = Replica(BrokerId(2), ORDERS)


def read(directory: Path, *rows: dict[str, Any]) -> Plan:
    """What a file of these rows says."""
    file = directory / "plan.json"
    file.write_text(json.dumps({"version": 1, "partitions": rows}))
    return plan_of(file)


def test_any_dir_is_left_to_the_broker(tmp_path: Path) -> None:
    """The plan that `--generate` writes can be carried out as it is."""
    expected = Plan({ORDERS: (1, 2)}, {})
    assert read(tmp_path, ROW) == expected
    file = tmp_path / "generated.json"
    file.write_text(text_of({ORDERS: [1, 2]}))
    assert plan_of(file) == expected


def test_a_dir_is_chosen_for_one_replica(tmp_path: Path) -> None:
    """By its place in the list of replicas."""
    found = read(tmp_path, {**ROW, "log_dirs": ["any", "/disks/two"]})
    assert found == Plan({ORDERS: (1, 2)}, {TWO: "/disks/two"})


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{**ROW, "log_dirs": ["any"]}], "different from size of log dirs list"),
        ([ROW, ROW], "duplicate topic partitions: orders-0"),
        ([{**ROW, "replicas": []}], "cannot be empty: orders-0"),
        ([{"topic": "orders"}], "malformed"),
    ],
)
def test_what_is_not_clear_is_refused(
    tmp_path: Path, rows: list[dict[str, Any]], sentence: str
) -> None:
    """Before anything is asked of the cluster."""
    with pytest.raises(Failed, match=sentence):
        read(tmp_path, *rows)


@pytest.mark.parametrize(
    ("current", "future", "text", "is_over"),
    [
        ("/b", None, "Reassignment of replica orders-0-2 completed successfully.", True),
        ("/a", "/b", "Reassignment of replica orders-0-2 is still in progress.", False),
        ("/a", "/c", "is being moved to log dir /c instead of /b.", False),
        ("/a", None, "is not being moved from log dir /a to /b.", True),
        (None, None, "not found in any live log dir on broker 2.", False),
    ],
)
def test_how_far_a_replica_is(
    current: str | None, future: str | None, text: str, *, is_over: bool
) -> None:
    """In the words of Kafka's script, which others look for; throttles stay until all are over."""
    state = State(TWO, "/b", current, future)
    assert text in state.text
    assert state.is_over == is_over

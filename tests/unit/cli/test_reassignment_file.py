"""The file of `kafka-reassign-partitions`: what is taken from it, and what is refused."""

import json

import pytest

from odradek.cli.failing import Failed
from odradek.cli.kafka.reassign_partitions import plan_of
from odradek.model.ids import TopicPartition


def file_of(*log_dirs: str) -> str:
    """One partition on two brokers, in these dirs."""
    row = {"topic": "orders", "partition": 0, "replicas": [1, 2], "log_dirs": log_dirs}
    return json.dumps({"version": 1, "partitions": [row]})


def test_any_dir_is_taken() -> None:
    """The plan that `--generate` writes can be carried out as it is."""
    assert plan_of(file_of("any", "any")) == {TopicPartition("orders", 0): [1, 2]}


def test_a_dir_is_refused() -> None:
    """It would not be moved there; the next step is named."""
    with pytest.raises(Failed, match="log_dirs other than any"):
        plan_of(file_of("any", "disks/two"))

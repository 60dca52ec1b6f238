"""The file of `kafka-reassign-partitions`: target replicas, and the log dirs chosen for some."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from odradek.cli.words.failing import Failed
from odradek.model.ids import BrokerId, TopicPartition

ANY: Final = "any"
"""In the place of a log dir: the broker chooses."""


class Replica(NamedTuple):
    """A partition on one broker; in the order in which Kafka's script names them."""

    broker: BrokerId
    partition: TopicPartition

    def __str__(self) -> str:
        """As Kafka writes it."""
        return f"{self.partition}-{self.broker}"


class Plan(NamedTuple):
    """What is asked for."""

    replicas: dict[TopicPartition, tuple[int, ...]]
    log_dirs: dict[Replica, str]


def plan_of(file: Path) -> Plan:
    """What it says; `Failed` where it is not clear."""
    plan = Plan({}, {})
    try:
        for row in json.loads(file.read_text())["partitions"]:
            partition = TopicPartition(str(row["topic"]), int(row["partition"]))
            replicas = tuple(map(int, row["replicas"]))
            log_dirs = list(map(str, row.get("log_dirs", [ANY] * len(replicas))))
            _check(plan, partition, replicas, log_dirs)
            plan.replicas[partition] = replicas
            for broker, log_dir in zip(replicas, log_dirs, strict=True):
                if log_dir != ANY:
                    plan.log_dirs[Replica(BrokerId(broker), partition)] = log_dir
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"the reassignment json file is malformed: {error!r}") from None
    return plan


def _check(
    plan: Plan, partition: TopicPartition, replicas: Sequence[int], log_dirs: Sequence[str]
) -> None:
    if partition in plan.replicas:
        raise Failed(f"Partition reassignment contains duplicate topic partitions: {partition}")
    if not replicas:
        raise Failed(f"Partition replica list cannot be empty: {partition}")
    if len(log_dirs) != len(replicas):
        raise Failed(
            f"Size of replicas list {list(replicas)} is different from size of log dirs list "
            f"{list(log_dirs)} for partition {partition}"
        )


def text_of(assignment: Mapping[TopicPartition, Sequence[int]]) -> str:
    """As Kafka's script prints it."""
    rows = [
        {
            "topic": it.topic,
            "partition": it.partition,
            "replicas": list(replicas),
            "log_dirs": [ANY] * len(replicas),
        }
        for it, replicas in sorted(assignment.items())
    ]
    return json.dumps({"version": 1, "partitions": rows}, separators=(",", ":"))

"""The command line moves partitions and elects leaders in a cluster of processes."""

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster


def test_partitions_are_moved_and_led_by_command(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan, a dry run, a move with its end, an election, a controller, and health in between."""
    with LiveCluster(tmp_path, brokers=3, settings={"min.insync.replicas": "1"}) as cluster:
        cluster.make("orders", 4, replicas=2)
        producer = Producer({"bootstrap.servers": cluster.bootstrap})
        for number in range(400):
            producer.produce("orders", b"x" * 1_000, partition=number % 4)
        producer.flush(10)
        odradek = Shell(capfdbinary, monkeypatch)
        odradek.bootstrap = cluster.bootstrap

        def rows(*said: str) -> Any:
            return odradek(*said, "--json").json

        plan = rows("partition", "reassign", "orders", "--without", "3", "--dry-run")
        assert plan
        assert {row["state"] for row in plan} == {"planned"}
        done = rows("partition", "reassign", "orders", "--without", "3")
        assert [row["partition"] for row in done] == [row["partition"] for row in plan]
        assert {row["state"] for row in done} == {"done"}
        assert all({*row["to"]} == {1, 2} for row in done)
        assert rows("partition", "reassign", "orders", "--without", "3") == []
        assert rows("partition", "reassignments") == []
        swapped = rows("partition", "reassign", "orders", "-p", "0", "--replicas", "2,1")
        assert len(swapped) <= 1
        rows("partition", "reassign", "orders", "-p", "0", "--replicas", "1,2")
        for row in rows("partition", "elect", "orders"):
            assert row["state"] == "elected"
            assert row["leader"] != row["leader_before"]
        found = rows("controller", "describe")
        assert found["brokers"] == [1, 2, 3]
        assert (found["offline_partitions"], found["reassigning"]) == (0, 0)
        disks = [cluster.brokers[3].directory / name for name in ("disk-a", "disk-b")]

        def chosen(log_dir: Path, *said: str) -> list[tuple[Any, str]]:
            row = {"topic": "orders", "partition": 1, "replicas": [3], "log_dirs": [str(log_dir)]}
            (tmp_path / "moves.json").write_text(json.dumps({"version": 1, "partitions": [row]}))
            moved = rows("partition", "reassign", "--file", str(tmp_path / "moves.json"), *said)
            return [(row["to"], row["state"]) for row in moved]

        for first, then in (disks, disks[::-1]):
            assert chosen(first) == [([3], "done")]
            assert (first / "orders-1").is_dir()
            assert chosen(first) == []
            assert chosen(then, "--dry-run") == [(f"3:{then}", "planned")]
            assert chosen(then) == [(f"3:{then}", "moved")]
            assert (then / "orders-1").is_dir()
            rows("partition", "reassign", "orders", "-p", "1", "--replicas", "2")
        row = {"topic": "orders", "partition": 1, "replicas": [3], "log_dirs": ["/nowhere"]}
        (tmp_path / "moves.json").write_text(json.dumps({"version": 1, "partitions": [row]}))
        said = odradek.fails("partition", "reassign", "--file", str(tmp_path / "moves.json"))
        assert "/nowhere is no log dir of broker 3" in said
        assert rows("partition", "reassignments") == []
        assert rows("cluster", "health") == {"healthy": True, "problems": []}
        refused = odradek.fails("partition", "reassign", "orders", "-p", "1", "--replicas", "9")
        assert "9" in refused

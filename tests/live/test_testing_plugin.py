"""The plugin of pytest, as a project that is not ours has it: in a pytest of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.external.tools import ROOT

FIXTURES = """
    import pytest
    from confluent_kafka import Producer

    def test_one(odradek):
        assert odradek.topic("orders") != odradek.topic("orders")
        producer = Producer({"bootstrap.servers": odradek.bootstrap, "acks": "all"})
        producer.produce(odradek.topic("orders", partitions=3), b"a")
        assert producer.flush(30) == 0

    def test_three(odradek_cluster):
        assert odradek_cluster.topic("orders") == "orders"
        odradek_cluster.kill(2)
        assert odradek_cluster.alive == [1, 3]

    @pytest.mark.odradek(brokers=2, settings={"num.partitions": 4})
    def test_as_the_mark_says(odradek_cluster):
        assert odradek_cluster.brokers == [1, 2]

    @pytest.mark.odradek(brokers=1, isolated=True)
    def test_in_a_process(odradek_cluster):
        odradek_cluster.kill(1)
        assert odradek_cluster.alive == []

    @pytest.mark.odradek(settings={"auto.create.topics.enable": "false"})
    def test_a_broker_of_its_own(odradek):
        assert odradek.topic("orders").startswith("orders")
"""
UNITTEST = """
    import unittest
    import odradek.testing

    class TestPayments(unittest.TestCase):
        def test_it(self):
            with odradek.testing.cluster(1) as c:
                self.assertEqual(c.topic("orders"), "orders")
"""
ASYNC = """
    import asyncio
    from aiokafka import AIOKafkaProducer

    def test_in_a_loop_of_its_own(odradek):
        async def produce():
            producer = AIOKafkaProducer(bootstrap_servers=odradek.bootstrap, acks="all")
            await producer.start()
            try:
                return await producer.send_and_wait(topic, b"a")
            finally:
                await producer.stop()

        topic = odradek.topic("orders")
        assert asyncio.run(produce()).offset == 0
"""
CHAOS = """
    import pytest

    @pytest.mark.odradek(chaos=39)
    def test_it(odradek_cluster):
        import threading
        pause = threading.Event()
        while odradek_cluster.alive == odradek_cluster.brokers:
            pause.wait(0.001)
        assert False
"""
WRONG = """
    import pytest

    @pytest.mark.odradek(borkers=3)
    def test_it(odradek_cluster):
        pass
"""


def pytest_of(folder: Path, text: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Its own pytest, which finds the plugin by its entry point."""
    lines = [line.removeprefix("    ") for line in text.splitlines()]
    (folder / "test_theirs.py").write_text("\n".join(lines))
    return subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-p", "no:randomly", "-p", "no:cacheprovider"),
            *("-W", "error", "--strict-markers", *options),
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("text", "passed"),
    [(FIXTURES, 5), (UNITTEST, 1), (ASYNC, 1)],
    ids=["pytest", "unittest", "async"],
)
def test_fixtures(tmp_path: Path, text: str, passed: int) -> None:
    """Every warning is an error there."""
    ended = pytest_of(tmp_path, text)
    assert f" {passed} passed" in ended.stdout, ended.stdout + ended.stderr
    assert ended.stderr == ""


def test_workers_side_by_side(tmp_path: Path) -> None:
    """Each has brokers of its own."""
    ended = pytest_of(tmp_path, FIXTURES, "-n", "2")
    assert " 5 passed" in ended.stdout, ended.stdout + ended.stderr


def test_a_failed_test_tells_its_seed(tmp_path: Path) -> None:
    """And the faults that it met: they have happened, and can be drawn again."""
    ended = pytest_of(tmp_path, CHAOS)
    assert ended.returncode == 1
    assert "@pytest.mark.odradek(chaos=39) draws this again:\nstop(2)" in ended.stdout, ended.stdout
    assert "1 failed" in ended.stdout
    assert "1 error" not in ended.stdout


def test_a_mark_that_says_something_else(tmp_path: Path) -> None:
    """It names what there is."""
    ended = pytest_of(tmp_path, WRONG)
    assert "borkers" in ended.stdout
    assert "odradek(brokers=3, settings={}, chaos=None, isolated=False)" in ended.stdout


def test_a_mark_that_cannot_be(tmp_path: Path) -> None:
    """Chance would draw faults that processes do not have."""
    ended = pytest_of(tmp_path, WRONG.replace("borkers=3", "chaos=7, isolated=True"))
    assert "chaos draws faults that isolated has not" in ended.stdout


def test_it_imports_nothing_for_who_does_not_use_it() -> None:
    """Every pytest of an environment loads it."""
    program = (
        "import sys, pytest; before = set(sys.modules); import odradek.testing.plugin; "
        "print(*sorted(set(sys.modules) - before))"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["odradek", "odradek.testing", "odradek.testing.plugin"]

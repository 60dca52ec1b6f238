"""librdkafka's own tests of transactions, built here, and run against three brokers of ours.

0103 is about misuse, fencing, empty transactions, offsets and watermarks; 0129 about batches that
are aborted. They wait more than they work, so they run at a time.
`LIBRDKAFKA_TESTS="0098 0103 0129"` in the environment has 0098, too, which takes minutes: it reads
what Java's producer and its own commit, abort and leave open in turn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from tests.live.cluster import LiveCluster
from tests.live.programs import Program, running

TESTS: Final = os.environ.get("LIBRDKAFKA_TESTS", "0103 0129").split()
PASSED: Final = "ALL TESTS PASSED"
PATIENCE: Final = 10
"""So many times as long as their own on a machine that does nothing else."""
SECONDS_MAX: Final = 600


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Their topics have three replicas."""
    with LiveCluster(tmp_path / "cluster", 3) as found:
        yield found


@pytest.fixture
def kafka(newest_clients: str, javac: str, tmp_path: Path) -> Path:
    """What 0098 needs of a Kafka: Java's clients, and a script that runs a class of its own."""
    assert javac, "asked for, so that it is installed"
    folder = tmp_path / "kafka"
    for name in ("bin", "libs"):
        (folder / name).mkdir(parents=True)
    (clients,) = (it for it in newest_clients.split(":") if "/kafka-clients-" in it)
    (folder / "libs" / Path(clients).name).symlink_to(clients)
    run = folder / "bin" / "kafka-run-class.sh"
    options = f'-Xmx128m -XX:TieredStopAtLevel=1 -cp "$CLASSPATH:{newest_clients}"'
    run.write_text(f'#!/bin/sh\nexec java {options} "$@"\n')
    run.chmod(0o755)
    return folder


@pytest.mark.timeout(SECONDS_MAX)
def test_they_pass(
    librdkafka_tests: str, cluster: LiveCluster, kafka: Path, tmp_path: Path
) -> None:
    """Each of them whole, in the directory of their sources."""
    settings = tmp_path / "test.conf"
    rows = {"metadata.broker.list": cluster.bootstrap, "test.timeout.multiplier": PATIENCE}
    settings.write_text("".join(f"{name}={value}\n" for name, value in rows.items()))
    told = {
        "RDKAFKA_TEST_CONF": settings,
        "TEST_KAFKA_VERSION": "3.9.0",
        "KAFKA_PATH": kafka,
        "LD_LIBRARY_PATH": "../src:../src-cpp",
    }
    where = [
        "env",
        "-C",
        str(Path(librdkafka_tests).parent),
        *(f"{k}={v}" for k, v in told.items()),
    ]
    with ExitStack() as stack:
        programs = {}
        for number in TESTS:
            command = [*where, f"TESTS={number}", librdkafka_tests, "-p1", "-E"]
            programs[number] = Program(command, tmp_path / number)
            stack.enter_context(running(programs[number]))
        for number, program in programs.items():
            program.process.wait(SECONDS_MAX)
            assert any(PASSED in it for it in program.lines()), (number, program.lines()[-40:])

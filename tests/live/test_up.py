"""`odradek up` as somebody tries it: what it prints can be typed, and any process may be killed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, Self

import pytest

from tests.compat.broker_process import eventually
from tests.external import tools
from tests.external.zookeeper import die_with_parent
from tests.live.workload import SteadyProducer, check_kept, read_all

COLUMNS: Final = 80
WAIT_SECONDS: Final = 30
END: Final = "Ctrl-C stops"


class Up:
    """The command in a folder of its own, with `odradek` on its path and nothing else of ours."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self._arguments = arguments
        self._process: subprocess.Popen[bytes]
        programs = folder / "programs"
        programs.mkdir(exist_ok=True)
        script = programs / "odradek"
        script.write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(tools.ROOT / 'src')!r})\n"
            "from odradek.cli import main\nmain()\n"
        )
        script.chmod(0o755)
        self.environment = {
            "PATH": f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "PYTHONPATH": str(tools.ROOT / "src"),
            "PYTHONUNBUFFERED": "yes",
            "XDG_CONFIG_HOME": str(folder / "no contexts"),
        }

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                ["odradek", "up", *self._arguments],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
            )
        eventually(
            lambda: END in self.text or self._process.poll() is not None, seconds=WAIT_SECONDS
        )
        assert END in self.text, self.text
        return self

    def __exit__(self, *error: object) -> None:
        self.interrupt()

    def interrupt(self) -> int:
        """Ctrl-C; returns the exit code."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        return self._process.wait(WAIT_SECONDS)

    @property
    def _log(self) -> Path:
        return self.folder / "printed"

    @property
    def text(self) -> str:
        """All that it has printed."""
        return self._log.read_text()

    @property
    def addresses(self) -> list[str]:
        """Of the brokers, as it prints them."""
        return re.findall(r"broker +\d* *(?:at )?(127.0.0.1:\d+)", self.text)

    def pids(self) -> dict[str, int]:
        """Of several processes, by name."""
        found = re.findall(r"^  (broker \d+|zookeeper) +\S+ +pid (\d+)", self.text, re.MULTILINE)
        return {name: int(pid) for name, pid in found}

    def shell(self, line: str) -> str:
        """Types a line."""
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=WAIT_SECONDS,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)
        return done.stdout

    @property
    def lines_to_type(self) -> list[str]:
        """What it offers for the shell."""
        if exported := re.search(r"export ODRADEK_BOOTSTRAP=(\S+)", self.text):
            self.environment["ODRADEK_BOOTSTRAP"] = exported[1]
        offered = re.findall(
            r"^  ((?:seq|odradek .*(?:consume|topic)|kcat|curl) .*)$", self.text, re.MULTILINE
        )
        return [line for line in offered if not line.startswith("kcat") or shutil.which("kcat")]

    @property
    def python(self) -> str:
        """What it offers for Python."""
        lines = re.findall(r"^  (.*)$", self.text[self.text.index("In Python") :], re.MULTILINE)
        return "\n".join(lines)


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """Three brokers and their ZooKeeper."""
    with Up(tmp_path_factory.mktemp("three"), "--brokers", "3") as up:
        yield up


def test_what_one_broker_prints_can_be_typed_twice(tmp_path: Path) -> None:
    """Help comes after the start, fits a terminal, has the true addresses, and nothing is above."""
    with Up(tmp_path) as up:
        text = up.text
        assert max(map(len, text.splitlines())) <= COLUMNS, text
        is_taken = r"(port 9092 is taken: .*\n\n)?"  # by another test
        assert re.match(is_taken + r"started: one broker at 127\.0\.0\.1:", text.lstrip())
        for _ in range(2):
            outputs = [up.shell(line) for line in up.lines_to_type]
            assert outputs[1].split()[:3] == ["1", "2", "3"]
            assert "kafka_server_replicamanager_partitioncount" in outputs[-1]
        for _ in range(2):
            up.shell(f"python - <<'END'\n{up.python}\nEND")
        assert up.text == text, "it is quiet about what is normal"
        assert up.interrupt() == 0
    with Up(tmp_path) as again:
        line = next(line for line in again.lines_to_type if "consume" in line)
        assert sorted(again.shell(line).split()) == sorted("123123" + "44")
    with Up(tmp_path, "--fresh", "--yes") as fresh:
        line = next(line for line in fresh.lines_to_type if "consume" in line)
        assert "numbers" not in fresh.shell(line.replace("consume numbers -e", "topic list"))


def test_three_brokers_go_on_whichever_is_killed(three: Up) -> None:
    """Leader, controller or ZooKeeper: producers with acks=all and readers do not notice."""
    where = ",".join(three.addresses)
    odradek = f"odradek -b {where}"
    assert len(three.addresses) == 3
    assert max(map(len, three.text.splitlines())) <= COLUMNS
    for line in three.lines_to_type:
        three.shell(line)
    described = three.shell(f"{odradek} topic describe numbers --json")
    assert described.count('"isr": [') == 3
    offsets = three.shell(f"{odradek} topic describe __consumer_offsets").splitlines()[2:]
    assert all(len(line.split("\t")[4].split(",")) == 3 for line in offsets), "before any group"
    three.shell(f"{odradek} consume numbers -g readers -e")
    with SteadyProducer(where, "numbers", 3) as producer:
        kill(three, "zookeeper", producer)
        zookeeper = _start_zookeeper_again(three)
        kill(three, "broker 1", producer)
        producer.stop()
    assert not producer.failed
    check_kept(producer, read_all(where, "numbers", 3))
    assert three.interrupt() == 0
    zookeeper.terminate()
    assert zookeeper.wait(WAIT_SECONDS) == 0
    for pid in three.pids().values():
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def kill(up: Up, name: str, producer: SteadyProducer) -> None:
    """Ends a process as a crash would; the producer goes on."""
    os.kill(up.pids()[name], signal.SIGKILL)
    eventually(lambda: f"{name} was ended by SIGKILL" in up.text)
    before = sum(map(len, producer.acknowledged.values()))
    eventually(lambda: sum(map(len, producer.acknowledged.values())) > before + 10)


def _start_zookeeper_again(up: Up) -> subprocess.Popen[bytes]:
    (line,) = re.findall(r"^  (odradek zookeeper serve .*)$", up.text, re.MULTILINE)
    return subprocess.Popen(
        line.split(),
        cwd=up.folder,
        env=up.environment,
        stdout=subprocess.DEVNULL,
        preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
    )

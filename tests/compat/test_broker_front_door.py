"""What `./dev up` tells newcomers to type is typed here, as it stands there."""

import re
import subprocess
import sys
import textwrap

import pytest

from tests.compat.broker_process import Broker
from tests.external.tools import ROOT

SAID = (ROOT / "dev").read_text().partition("run_up() {")[2].split("HELP'\n")[1].split("\nHELP")[0]
ADDRESS = "127.0.0.1:9092"
SECONDS_MAX = 30


def commands(beginning: str) -> list[str]:
    """Of the two columns, those that have to do with this."""
    found = [it for line in SAID.splitlines() for it in re.split(r"\s{3,}", line.strip())]
    return [it for it in found if beginning in it]


def run(command: str) -> str:
    """What it prints; it must go well."""
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout


@pytest.fixture(scope="module")
def typed(broker: Broker) -> str:
    """What is there once the first command was typed."""
    ours = f"{sys.executable} -m odradek"
    tool = [f"{it} -b {broker.bootstrap}" for it in commands("odradek")]
    said = [it.replace(".venv/bin/odradek", ours) for it in tool]
    assert len(said) == 3
    return "".join(map(run, said))


def test_the_command_of_ours(typed: str) -> None:
    """It produces, consumes and describes."""
    assert typed.startswith("1\n2\n3\nnumbers  id ")


def test_kcat(broker: Broker, typed: str, kcat: str) -> None:
    """It adds to what there is."""
    del typed
    said = [
        it.replace(ADDRESS, broker.bootstrap).replace("kcat ", f"{kcat} ")
        for it in commands("kcat")
    ]
    assert len(said) == 2
    assert sorted("".join(map(run, said)).split())[:6] == ["1", "1", "2", "2", "3", "3"]


def test_python(broker: Broker, typed: str) -> None:
    """What it produces is there when it has ended, and it reads what there was."""
    del typed
    lines = textwrap.dedent(SAID[SAID.index("  from ") :])
    assert ADDRESS in lines
    program = lines.replace(ADDRESS, broker.bootstrap)
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("b'")
    found = run(f"{sys.executable} -m odradek consume numbers -e -b {broker.bootstrap}")
    assert "4" in found.split()

"""The same seed has the same history, to the byte: in each process, on each Python."""

import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from odradek.sim.worlds import NAMES

SOURCE = Path(__file__).parents[2] / "src"
SEED = "11"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """Only what is pure Python of what the product imports: any version can import it."""
    (tmp_path / "structlog").symlink_to(Path(structlog.__file__).parent)
    return tmp_path


def digest(kind: str, packages: Path, *, python: str = sys.executable, hashing: str = "0") -> str:
    """What the command says in a process of its own."""
    done = subprocess.run(
        [python, "-m", "odradek.sim", "--scenario", kind, "--seed", SEED],
        env={"PYTHONPATH": f"{SOURCE}:{packages}", "PYTHONHASHSEED": hashing},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def other_pythons() -> list[str]:
    """Those that are installed beside the one that runs."""
    versions = Path.home() / ".pyenv" / "versions"
    found = [*versions.glob("3.1[1-9]*/bin/python"), *Path("/usr/bin").glob("python3.1[1-9]")]
    return sorted(map(str, found))


@pytest.mark.parametrize("kind", NAMES)
def test_two_processes_have_the_same_history(kind: str, packages: Path) -> None:
    """Strings and tasks hash differently in each; the history does not."""
    first = digest(kind, packages, hashing="1")
    assert first.startswith("digest ")
    assert first == digest(kind, packages, hashing="2")


@pytest.mark.parametrize("python", other_pythons())
def test_every_python_has_the_same_history(python: str, packages: Path) -> None:
    """A seed that fails on one version can be looked at on another.

    Of the kinds only this one needs nothing compiled, and so runs on Pythons that are just there.
    """
    kind = "zookeeper"
    assert digest(kind, packages, python=python) == digest(kind, packages)

"""The same seed has the same history, to the byte: in each process, on each Python."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import structlog

from odradek.sim.worlds import ALL

SOURCE = Path(__file__).parents[2] / "src"
SEED = "11"
VERSION = re.compile(r"3\.1[1-9]")
ANYWHERE = """
import sys
from odradek.records.compression import Codec
from odradek.sim import __main__
from odradek.sim.worlds.broker import clients
clients.CODECS = (Codec.NONE, Codec.GZIP)
sys.exit(__main__.main(sys.argv[1:]))
"""
"""The command, with the codecs that every Python has."""


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """What the product imports, as any Python can import it.

    Those that are just there have nothing that is compiled: another checksum stands in.
    """
    for package in (structlog,):
        here = Path(str(package.__file__)).parent
        (tmp_path / here.name).symlink_to(here)
    (tmp_path / "crc32c.py").write_text("from zlib import crc32 as crc32c\n")
    return tmp_path


def digest(*how: str, path: Path = SOURCE, python: str = sys.executable, hashing: str = "0") -> str:
    """What the command says in a process of its own."""
    done = subprocess.run(
        [python, *how, "--seed", SEED],
        env={"PYTHONPATH": f"{SOURCE}:{path}", "PYTHONHASHSEED": hashing},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def other_pythons() -> list[str]:
    """One of each version that is installed, but of the one that runs."""
    versions = Path.home() / ".pyenv" / "versions"
    found = [*versions.glob("3.1[1-9]*/bin/python"), *Path("/usr/bin").glob("python3.1[1-9]")]
    of_version = {VERSION.findall(str(path))[-1]: str(path) for path in sorted(found)}
    of_version.pop("{}.{}".format(*sys.version_info), None)
    return sorted(of_version.values())


@pytest.mark.parametrize("kind", ALL)
def test_two_processes_have_the_same_history(kind: str) -> None:
    """Strings and tasks hash differently in each; the history does not."""
    one, other = (
        digest("-m", "odradek.sim", "--scenario", kind, hashing=hashing) for hashing in "12"
    )
    assert one.startswith("digest ")
    assert one == other


@pytest.mark.parametrize("kind", ALL)
def test_every_python_has_the_same_history(kind: str, packages: Path) -> None:
    """A seed that fails on one version can be looked at on another."""
    how = ("-c", ANYWHERE, "--scenario", kind)
    ours = digest(*how, path=packages)
    for python in other_pythons():
        assert digest(*how, path=packages, python=python, hashing="3") == ours, python

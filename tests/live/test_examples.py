"""examples/: each folder, copied elsewhere and run as its own README says."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

import odradek.testing
from tests.external.tools import ROOT

EXAMPLES: Final = ROOT / "examples"
FOLDERS: Final = sorted(it.parent.name for it in EXAMPLES.glob("*/README.md"))
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
READ: Final = "read a\nread b\nread c\n"
SAID: Final = {
    "aiokafka": READ,
    "confluent-kafka": READ,
    "kafka-python": READ,
    "drill": "1 passed",
    "ci": "2 passed",
}


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    """A broker, as `odradek up` would start it."""
    with odradek.testing.cluster(1) as running:
        yield running.bootstrap


@pytest.mark.parametrize("folder", FOLDERS)
def test_an_example_runs_from_a_copy(folder: str, tmp_path: Path, bootstrap: str) -> None:
    """The block that prepares installs what is in the tests' environment already."""
    copy = tmp_path / "a copy"
    shutil.copytree(EXAMPLES / folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
    prepares, runs = BLOCK.findall((copy / "README.md").read_text())
    assert "pip install" in prepares
    ended = subprocess.run(
        ["bash", "-euc", runs],
        cwd=copy,
        env={
            **os.environ,
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT / "src"),
            "ODRADEK_BOOTSTRAP": bootstrap,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert SAID[folder] in ended.stdout, ended.stdout


def test_every_example_is_listed() -> None:
    """In the table of examples/README.md, and among those that are run."""
    listed = re.findall(r"\]\(([\w-]+)/README\.md\)", (EXAMPLES / "README.md").read_text())
    assert sorted(listed) == FOLDERS == sorted(SAID)

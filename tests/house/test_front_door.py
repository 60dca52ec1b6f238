"""What a newcomer meets first: the licence, and `./dev` from wherever they stand."""

import subprocess
from pathlib import Path

import pytest

from tests.house import tree

DEV = tree.ROOT / "dev"


def test_the_licence_is_there_and_is_the_one_named() -> None:
    """pyproject.toml says Apache-2.0; without the text nobody may use the code."""
    assert "Apache License\n                           Version 2.0" in tree.text(
        tree.ROOT / "LICENSE"
    )
    assert 'license = "Apache-2.0"' in tree.text(tree.ROOT / "pyproject.toml")


def run_dev(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs it with nothing in its environment, as a bare service would."""
    command = ["/usr/bin/env", "-i", "bash", str(DEV), *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


def test_dev_explains_itself_anywhere(tmp_path: Path) -> None:
    """Help needs no installation, no home directory, and no certain place to stand."""
    helped = run_dev("--help", cwd=tmp_path)
    assert helped.returncode == 0
    assert helped.stdout.startswith("usage: ./dev COMMAND")
    assert not helped.stderr


def test_dev_refuses_what_it_does_not_know(tmp_path: Path) -> None:
    """A mistyped command must not look like one that passed."""
    refused = run_dev("tset", cwd=tmp_path)
    assert refused.returncode == 2
    assert "no command named tset" in refused.stderr


@pytest.mark.parametrize("script", ["dev", ".ci/run"])
def test_a_script_can_be_run_and_parsed(script: str) -> None:
    """One that lost its mode bit or a quote is found here, not on another's machine."""
    path = tree.ROOT / script
    assert path.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", path], check=True)

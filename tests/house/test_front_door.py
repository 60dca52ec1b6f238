"""What a newcomer meets first: the licence, and `./dev` from wherever they stand."""

import os
import signal
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


def test_dev_refuses_a_subset_that_is_not_there(tmp_path: Path) -> None:
    """Before an environment is built for it."""
    tools = tmp_path / "tree"
    tools.mkdir()
    (tools / "dev").write_text(tree.text(DEV))
    (tools / "tests" / "unit").mkdir(parents=True)
    refused = subprocess.run(
        ["bash", str(tools / "dev"), "test", "nosuch"], capture_output=True, text=True, check=False
    )
    assert refused.returncode == 2
    assert refused.stderr == "dev: there is no tests/nosuch; there are: unit/\n"


def test_dev_refuses_a_check_that_is_not_there(tmp_path: Path) -> None:
    """Otherwise a misspelt one would look as if it had passed."""
    refused = run_dev("check", "layers", "style", cwd=tmp_path)
    assert refused.returncode == 2
    there = "format lint types layers house"
    assert refused.stderr == f"dev: there is no check style; there are: {there}\n"


def test_dev_up_is_odradek_up_with_its_defaults() -> None:
    """What `up --help` says of them holds for both."""
    assert '\nup) exec "$venv/bin/odradek" up "$@" ;;\n' in tree.text(DEV)


def test_dev_says_in_a_line_that_it_was_interrupted(tmp_path: Path) -> None:
    """Ctrl-C while pip installs: no traceback, and no half of an environment that looks whole."""
    copy = tmp_path / "dev"
    copy.write_text(tree.text(DEV))
    for name in ("build.txt", "up.txt"):
        (tmp_path / "pins").mkdir(exist_ok=True)
        (tmp_path / "pins" / name).write_text("")
    (tmp_path / "pyproject.toml").touch()
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/bash\ncase "$*" in\n*" install "*) echo installing; exec sleep 60 ;;\nesac\n'
    )
    python.chmod(0o755)
    heeding = ["env", "--default-signal=INT"]  # tests in the background are made to ignore it
    command = [*heeding, "bash", str(copy), "up"]
    environment = {"PATH": "/usr/bin:/bin", "ODRADEK_PYTHON": str(python)}
    with subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "installing\n"
        os.killpg(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "dev: interrupted; the next ./dev begins this step again"
    assert not (tmp_path / ".venv-up" / "venv.stamp").exists()


@pytest.mark.parametrize("script", ["dev", ".ci/run"])
def test_a_script_can_be_run_and_parsed(script: str) -> None:
    """One that lost its mode bit or a quote is found here, not on another's machine."""
    path = tree.ROOT / script
    assert path.stat().st_mode & 0o111
    subprocess.run(["bash", "-n", path], check=True)


@pytest.mark.parametrize(("installs", "code"), [("true", 0), ("! [[ $* == *spark.txt* ]]", 1)])
def test_spark_is_installed_beside_the_other_tests_and_they_are_run_without_it(
    tmp_path: Path, installs: str, code: int
) -> None:
    """Where it cannot be had, the run has failed, and says so in its last line."""
    (tmp_path / "dev").write_text(tree.text(DEV))
    (tmp_path / "pins").mkdir()
    for name in ("build.txt", "dev.txt", "spark.txt"):
        (tmp_path / "pins" / name).write_text("")
    (tmp_path / "pyproject.toml").touch()
    python = tmp_path / "python"
    python.write_text(
        '#!/bin/bash\ncase "$*" in\n'
        '*" venv "*) mkdir -p "${@: -1}/bin"; cp "$0" "${@: -1}/bin" ;;\n'
        f'*" install "*) {installs} ;;\n'
        '*"-m pytest"*) echo "$0${PYTHONDONTWRITEBYTECODE}" ;;\nesac\n'
    )
    python.chmod(0o755)
    environment = {
        "PATH": "/usr/bin:/bin",
        "ODRADEK_PYTHON": str(python),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    ended = subprocess.run(
        ["bash", str(tmp_path / "dev"), "test"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == code, ended.stderr
    ran = [str(tmp_path / venv / "bin" / "python") for venv in (".venv", ".venv-spark")]
    assert ended.stdout.splitlines() == (ran if code == 0 else ran[:1])
    last = ended.stderr.splitlines()[-1]
    assert ("done after" if code == 0 else "could not be made") in last

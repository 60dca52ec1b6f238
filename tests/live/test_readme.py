"""README, followed to the letter in an empty folder with an empty environment, twice."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.compat.broker_process import eventually
from tests.external import tools
from tests.external.zookeeper import die_with_parent

BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INSTALL_SECONDS_MAX: Final = 120
LINE_SECONDS_MAX: Final = 20
DEFAULT: Final = "127.0.0.1:9092"
NOT_OURS: Final = (
    ".git",
    ".cache",
    ".venv*",
    "odradek-data",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
)


def environment(home: Path) -> dict[str, str]:
    """Empty, but for what finds programs and the index of packages."""
    found = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return {**found, "PATH": os.environ["PATH"], "HOME": str(home)}


def test_readme_can_be_followed_twice(tmp_path: Path) -> None:
    """The first time installs what running needs; the second finds what the first has kept."""
    if not os.environ.get("ODRADEK_INSTALL"):
        pytest.skip("installs packages; ./dev test does")
    folder = tmp_path / "odradek"
    shutil.copytree(tools.ROOT, folder, ignore=shutil.ignore_patterns(*NOT_OURS))
    start, then, everything = BLOCK.findall((folder / "README.md").read_text())
    assert everything == "./dev test\n"  # of which this is one
    outputs = [follow(folder, start, then) for _ in range(2)]
    for number, said in enumerate(outputs, 1):
        assert said.count("\n1\n") + said.startswith("1\n") == number, said
        assert "\nnumbers\t0\t" in said
        assert said.rstrip().endswith("numbers")
    installed = {path.name for path in (folder / ".venv-up").glob("lib/python3*/site-packages/*")}
    assert "click" in installed
    assert not {"pytest", "mypy", "ruff", "confluent_kafka"} & installed


def follow(folder: Path, start: str, then: str) -> str:
    """One time: the first block in one terminal, the second in another; then Ctrl-C."""
    printed = folder / "printed"
    with printed.open("wb") as out:
        up = subprocess.Popen(
            ["bash", "-c", f"exec {start.strip()}"],
            cwd=folder,
            env=environment(folder.parent),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
        )
    try:
        eventually(
            lambda: "Ctrl-C stops it" in printed.read_text() or up.poll() is not None,
            seconds=INSTALL_SECONDS_MAX,
        )
        text = printed.read_text()
        found = re.search(r"started: one broker at (\S+),", text)
        assert found is not None, text
        where = {} if found[1] == DEFAULT else {"ODRADEK_BOOTSTRAP": found[1]}  # another test's
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", then.replace(DEFAULT, found[1])],
            cwd=folder,
            env={**environment(folder.parent), **where},
            capture_output=True,
            text=True,
            check=False,
            timeout=6 * LINE_SECONDS_MAX,
        )
        assert done.returncode == 0, (done.stdout, done.stderr)
        return done.stdout
    finally:
        up.send_signal(signal.SIGINT)
        assert up.wait(LINE_SECONDS_MAX) == 0, printed.read_text()

"""`odradek demo --fast`: it runs, and docs/demo.md shows what it prints."""

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.external.tools import ROOT
from tests.terminal import shown


def _demo(folder: Path) -> tuple[str, int]:
    """On a terminal, without colours."""
    around = {"PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(folder), "NO_COLOR": "1"}
    command = (sys.executable, "-m", "odradek", "demo", "--fast")
    said, code = shown(command, {**os.environ, **around})
    return re.sub(r"\x1b\[[\d;]*m", "", said), code


def _same_in_each_run(text: str) -> list[str]:
    """Its lines, without numbers and ids."""
    text = re.sub(r"(?<=orders  id )\S+", "ID", text)
    lines = [re.sub(r"[\d.]+", "N", " ".join(line.split())) for line in text.splitlines()]
    rows = [re.sub(r"^[N, ]+$", "a row", line) for line in lines]
    return [line for line in rows if line and "loads the metadata" not in line]


def test_it_prints_what_the_page_shows(tmp_path: Path) -> None:
    """Each acknowledged record is there once, and nothing is left behind."""
    said, code = _demo(tmp_path)
    assert code == 0, said
    assert re.search(r"acknowledged (\d+), read \1: 0 missing, 0 twice\n$", said)
    (page,) = re.findall(r"```text\n(.*?)```", (ROOT / "docs/demo.md").read_text(), re.DOTALL)
    assert _same_in_each_run(said) == _same_in_each_run(page)
    assert list(tmp_path.iterdir()) == []


def test_what_is_lost_is_said(tmp_path: Path) -> None:
    """It ends with 1, and no traceback."""
    program = (
        "import sys; from odradek.cli import main;"
        "from odradek.cli.serving import demo_producer;"
        "sys.argv[1:] = ['demo', '--fast'];"
        "it = demo_producer.DemoProducer; compare = it.compare;"
        "it.compare = lambda self: compare(self)._replace(missing=1); main()"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "acknowledged records are not there once each" in ended.stderr
    assert "Traceback" not in ended.stderr

"""docs/pipelines.md: the file that it shows is run by the lines that it shows."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.compat.broker_process import OdradekBroker
from tests.external.tools import ROOT
from tests.pipelines.moving.archives import batches_in

PAGE: Final = ROOT / "docs" / "pipelines.md"
FILE: Final = re.compile(r"^```toml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_tutorial_leads_where_it_says(
    broker: OdradekBroker, connect: str, tmp_path: Path
) -> None:
    """Two orders are in the table, the third record is a dead letter; every line ends well.

    The file says besides where there is a Java: each of its verbs starts one otherwise.
    """
    text = PAGE.read_text(encoding="utf-8")
    (file,) = FILE.findall(text)
    file = f'{file.replace("127.0.0.1:9092", broker.bootstrap)}[spark]\nremote = "{connect}"\n'
    (tmp_path / "orders.toml").write_text(file)
    command = tmp_path / "bin" / "odradek"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m odradek "$@"\n')
    command.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "ODRADEK_BOOTSTRAP": broker.bootstrap,
    }
    first, second, drafting, third = BLOCK.findall(text)
    for block in (first, second):
        _type(block, tmp_path, environment)
    rows = [row for it in batches_in(f"delta:{tmp_path}/lake/orders") for row in it.to_pylist()]
    assert sorted((row["id"], row["amount"], row["note"]) for row in rows) == [
        (1, 5.0, None),
        (2, 7.5, "new"),
    ]
    (dead,) = [
        row for it in batches_in(f"delta:{tmp_path}/lake/orders-dead") for row in it.to_pylist()
    ]
    assert (dead["value"], dead["offset"]) == (b"no order", 2)
    _type(drafting, tmp_path, environment)
    assert 'id = "long"' in (tmp_path / "drafted.toml").read_text(encoding="utf-8")
    _type(third, tmp_path, environment)


def _type(block: str, folder: Path, environment: dict[str, str]) -> None:
    """Each line, as somebody reads it."""
    for line in block.splitlines():
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (line, done.stdout, done.stderr)

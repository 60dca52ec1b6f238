"""docs/cli.md: every line of its blocks for the shell is run."""

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Final

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell
from tests.external.tools import ROOT

PAGE: Final = ROOT / "docs" / "cli.md"
BLOCK: Final = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_line_of_the_page_can_be_typed(
    odradek: Shell, broker: OdradekBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In its order, as somebody reads it; each ends well."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    (tmp_path / "server.properties").write_text("log.dirs=logs\n")
    lines = [line for block in BLOCK.findall(PAGE.read_text()) for line in block.splitlines()]
    assert len(lines) > 40
    for line in lines:
        before, pipe, call = line.rpartition(" | ")
        said = b""
        if pipe:
            said = subprocess.run(["bash", "-c", before], check=True, capture_output=True).stdout
        if "disk-1" in call:
            logs = broker.directory.glob("disk-*/orders-*/*.log")
            here = max(logs, key=lambda log: log.stat().st_size).parent
            call = call.replace("disk-1/orders-0", os.path.relpath(here))
        name, *arguments = shlex.split(call)
        assert name == "odradek", line
        ended = odradek(*arguments, said=said)
        assert ended.out or "produce" in arguments, line

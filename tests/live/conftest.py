"""The command, at the cluster that a test has."""

from pathlib import Path

import pytest

from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster


@pytest.fixture
def odradek(
    cluster: LiveCluster,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Shell:
    """At all of its brokers, with a place of its own for what it keeps."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shell = Shell(capfdbinary, monkeypatch)
    shell.bootstrap = cluster.bootstrap
    return shell

"""The files of deploy/: what they set exists, and what they call can be called."""

import re

from click.testing import CliRunner

from odradek.broker.control import broker_session
from odradek.broker.control.controller_loop import LEAVE_PATIENCE
from odradek.broker.partitions.logs import dir_moves, local_logs
from odradek.broker.stopping import REQUESTS_PATIENCE
from odradek.cli.root import command
from odradek.config.rows import broker as broker_rows
from odradek.config.sources import setting_of_variable
from odradek.config.table import BROKER_SETTINGS
from odradek.model.units import SECOND
from odradek.peers.connection import ANSWER_MS, CONNECT_MS
from tests.house import tree

DEPLOY = tree.ROOT / "deploy"
VARIABLE = re.compile(r"\b(KAFKA_[A-Z_]+)[:=]")
OF_THE_UI = "KAFKA_CLUSTERS_"
DISKS_SECONDS = 30
"""What syncing all logs may take."""


def test_every_variable_is_a_setting() -> None:
    """A mistyped one would start a broker with a default."""
    found = {
        name
        for file in ("Containerfile", "compose.yaml")
        for name in VARIABLE.findall(tree.text(DEPLOY / file))
        if not name.startswith(OF_THE_UI)
    }
    assert len(found) > 8
    assert not [it for it in found if setting_of_variable(it) not in BROKER_SETTINGS]


def test_every_option_is_one_of_the_command() -> None:
    """Of the systemd unit and of the compose file, as `--help` lists them."""
    calls = {
        ("serve",): tree.text(DEPLOY / "odradek.service")
        .partition("ExecStart=")[2]
        .splitlines()[0],
        ("check",): tree.text(DEPLOY / "odradek.service").partition("StartPre=")[2].splitlines()[0],
        ("zookeeper", "serve"): tree.text(DEPLOY / "compose.yaml")
        .partition("command: ")[2]
        .splitlines()[0],
    }
    for words, line in calls.items():
        told = CliRunner().invoke(command, [*words, "--help"]).output
        options = re.findall(r"--[a-z-]+", line)
        assert options, line
        assert not [it for it in options if it not in told], line


def test_the_container_is_built_from_what_the_package_needs() -> None:
    """Whatever else lies in the folder (environments, data) stays out of the image."""
    lines = tree.text(tree.ROOT / ".dockerignore").splitlines()
    taken = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert taken == {
        *("LICENSE", "README.md", "deploy/image", "hatch_build.py", "pyproject.toml", "src")
    }
    assert all((tree.ROOT / name).exists() for name in taken)


def longest_end() -> float:
    """Of a broker whose controller answers nothing, in seconds; its disks take what they take."""
    tries = broker_rows.CONTROLLED_SHUTDOWN_MAX_RETRIES.default
    pauses = tries * broker_rows.CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS.default
    hand_over = (1 + tries) * (CONNECT_MS + ANSWER_MS) + pauses + LEAVE_PATIENCE
    disks = local_logs.CLOSE_PATIENCE + dir_moves.CLOSE_PATIENCE
    return (hand_over + REQUESTS_PATIENCE + disks + broker_session.CLOSE_PATIENCE) / SECOND


def test_no_good_end_is_cut_short() -> None:
    """Who kills a broker before that makes a crash of it: the next start checks all its logs."""
    unit = re.findall(
        r"^TimeoutStopSec=(\d+)$", tree.text(DEPLOY / "odradek.service"), re.MULTILINE
    )
    compose = re.findall(
        r"^  stop_grace_period: (\d+)s", tree.text(DEPLOY / "compose.yaml"), re.MULTILINE
    )
    assert [int(it) >= longest_end() + DISKS_SECONDS for it in (*unit, *compose)] == [True, True]

"""Alerts: what they read exists, what they name has a runbook, and they come when they should."""

import re
import shutil
import subprocess

import click
import pytest
from click.testing import CliRunner

from odradek.broker.figures.families import HELP
from odradek.cli.root import command
from tests.house import tree

PROMETHEUS = tree.ROOT / "deploy" / "prometheus"
RUNBOOKS = tree.ROOT / "docs" / "runbooks.md"
METRIC = re.compile(r"\b(?:kafka|odradek|process)_[a-z_]+")
CALL = re.compile(r"`odradek ([a-z-]+)(?: ([a-z-]+))?([^`]*)`")


def alerts() -> list[str]:
    """Their names."""
    return re.findall(r"- alert: (\w+)", tree.text(PROMETHEUS / "alerts.yml"))


def test_every_alert_has_a_runbook() -> None:
    """Under its own name, so that it is found at three in the morning."""
    titles = re.findall(r"^## (.+)$", tree.text(RUNBOOKS), re.MULTILINE)
    assert not [it for it in alerts() if it not in titles]
    assert len(set(alerts())) == len(alerts()) > 15


def test_every_metric_of_an_alert_is_one_of_ours() -> None:
    """An alert on a name that no page has would never come."""
    named = set(METRIC.findall(tree.text(PROMETHEUS / "alerts.yml")))
    known = {*HELP, *(f"{it}_total" for it in HELP)}
    assert named
    assert not {it for it in named if it not in known and not it.startswith("process_")}


def test_every_command_of_a_runbook_can_be_called() -> None:
    """Its verb is there, and its options are."""
    context = click.Context(command)
    calls = CALL.findall(tree.text(RUNBOOKS))
    assert len(calls) > 25
    for noun, verb, rest in calls:
        found = command.get_command(context, noun)
        assert found is not None, noun
        words = [noun]
        if isinstance(found, click.Group):
            assert found.get_command(context, verb) is not None, (noun, verb)
            words.append(verb)
        told = CliRunner().invoke(command, [*words, "--help"]).output
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", rest):
            assert option in told, (noun, verb, option)


def test_alerts_come_when_they_should() -> None:
    """By Prometheus' own tool: also that a rolling restart is silent."""
    promtool = shutil.which("promtool")
    if promtool is None:
        pytest.skip("promtool is not here; Debian's package prometheus has it")
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yml"],
        cwd=PROMETHEUS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

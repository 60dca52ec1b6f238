"""Alerts: what they read exists, what they name has a runbook, and they come when they should."""

import re
import subprocess

import click
from click.testing import CliRunner

from odradek.broker.figures.families import HELP
from odradek.cli.root import command
from odradek.config.rows.zookeeper import ZOOKEEPER_SESSION_TIMEOUT_MS
from odradek.model.units import SECOND
from tests.house import tree

PROMETHEUS = tree.ROOT / "deploy" / "prometheus"
RUNBOOKS = tree.ROOT / "docs" / "runbooks.md"
METRIC = re.compile(r"\b(?:kafka|odradek|process)_[a-z_]+")
MEANING = re.compile(r"^\| (`[^|]+) \| ([^|]+) \| `([a-z_]+::[a-z_*]+)` \|$", re.MULTILINE)
TICK_SECONDS = 2
"""ZooKeeper ends sessions at its next tick; its own default."""
CALL = re.compile(r"`odradek ([a-z-]+)(?: ([a-z-]+))?([^`]*)`")


def alerts() -> list[str]:
    """Their names."""
    return re.findall(r"- alert: (\w+)", tree.text(PROMETHEUS / "alerts.yml"))


def recorded() -> list[str]:
    """What Prometheus makes of several brokers' pages."""
    return re.findall(r"- record: (\w+)", tree.text(PROMETHEUS / "alerts.yml"))


def test_every_alert_has_a_runbook() -> None:
    """Under its own name, so that it is found at three in the morning."""
    titles = re.findall(r"^## (.+)$", tree.text(RUNBOOKS), re.MULTILINE)
    assert not [it for it in alerts() if it not in titles]
    assert len(set(alerts())) == len(alerts()) > 15


def test_every_metric_of_an_alert_is_one_of_ours() -> None:
    """An alert on a name that no page has would never come."""
    named = set(METRIC.findall(tree.text(PROMETHEUS / "alerts.yml")))
    known = {*HELP, *(f"{it}_total" for it in HELP), *recorded()}
    assert named
    assert not {it for it in named if it not in known and not it.startswith("process_")}


def test_every_metric_of_an_alert_or_board_has_its_meaning_and_its_test() -> None:
    """The table of operations.md: a value that was never seen with its fault may mean anything."""
    page = tree.text(tree.ROOT / "docs" / "operations.md")
    rows = MEANING.findall(page.partition("\nWhat alerts and")[2].partition("\nWhat such")[0])
    told = {name for names, *_ in rows for name in METRIC.findall(names)}
    assert told == {
        name
        for file in (PROMETHEUS / "alerts.yml", PROMETHEUS.with_name("grafana") / "odradek.json")
        for name in METRIC.findall(tree.text(file))
    }
    for _, meaning, test in rows:
        (file, name) = test.split("::")
        texts = [path.read_text() for path in (tree.ROOT / "tests").rglob(f"test_{file}.py")]
        assert meaning
        assert any(name == "*" or f"def test_{name}(" in text for text in texts), test


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


def test_other_pages_leave_disks_to_the_runbooks() -> None:
    """Two descriptions of one fault come to differ, and one of them is wrong at night."""
    operations = tree.text(tree.ROOT / "docs" / "operations.md")
    events = tree.text(tree.ROOT / "docs" / "events.md")
    for alert in ("offlinelogdirectorycount", "diskhangs", "diskwears"):
        assert f"(runbooks.md#{alert})" in operations, alert
        assert f"(runbooks.md#{alert})" in events, alert
    assert "(runbooks.md#brokergone)" in tree.text(tree.ROOT / "docs" / "cluster.md")


def seconds(text: str) -> int:
    """`20s` or `2m`."""
    return int(text[:-1]) * {"s": 1, "m": 60}[text[-1]]


def test_every_alert_names_its_runbook() -> None:
    """Whoever is woken follows a link, and does not search."""
    text = tree.text(PROMETHEUS / "alerts.yml")
    named = re.findall(r"- alert: (\w+)\n(?:(?! +- alert).*\n)*? +runbook: (\S+)\n", text)
    assert named == [(it, f"docs/runbooks.md#{it.lower()}") for it in alerts()]


def test_a_broker_that_vanished_is_told_of_within_a_minute() -> None:
    """Its session ends, a scrape shows it, and the rule holds for as long as it says."""
    shipped = tree.text(PROMETHEUS / "prometheus.yml")
    scrape, evaluate = (
        re.findall(rf"{it}_interval: (\w+)", shipped)[0] for it in ("scrape", "evaluation")
    )
    assert f"evaluation_interval: {evaluate}\n" in tree.text(PROMETHEUS / "alerts_test.yml")
    rule = tree.text(PROMETHEUS / "alerts.yml").partition("- alert: BrokerGone")[2]
    lasts = re.findall(r"for: (\w+)", rule)[0]
    session = ZOOKEEPER_SESSION_TIMEOUT_MS.default // SECOND + TICK_SECONDS
    assert session + seconds(scrape) + seconds(evaluate) + seconds(lasts) <= 60


def test_alerts_come_when_they_should(promtool: str) -> None:
    """By Prometheus' own tool: also that a rolling restart is silent."""
    done = subprocess.run(
        [promtool, "test", "rules", "alerts_test.yml"],
        cwd=PROMETHEUS,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr

"""Telemetry: planted events are found in logs, and shown in a page."""

import datetime as dt
import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.telemetry import IsrHistory, Logs, Outage, SlowDecisions, telemetry
from odradek.pipelines.moving.telemetry_page import page

START = dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC)


def line(second: float, event: str, level: str = "info", **fields: Any) -> str:
    """As a broker writes it."""
    at = (START + dt.timedelta(seconds=second)).isoformat().replace("+00:00", "Z")
    return json.dumps({**fields, "event": event, "level": level, "timestamp": at})


def brokers_changed(second: float, **fields: Any) -> str:
    """The controller's list."""
    return line(second, "controller.brokers_changed", **{"gone": [], "arrived": [], **fields})


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """An hour of two brokers; broker 2 was gone for 90 s, and at the end broker 3 is."""
    first = [
        "Odradek starts",
        line(0, "broker.started", broker=1),
        brokers_changed(1, arrived=[1, 2, 3]),
        line(600, "controller.process_is_gone", "warning", broker=2),
        brokers_changed(600.5, gone=[2]),
        line(601, "isr.changed", partition="orders-0", isr=[1, 3]),
        line(602, "controller.slow_event", kind="BrokersChanged", ms=140),
        line(603, "controller.slow_event", kind="BrokersChanged", ms=300),
        brokers_changed(690.5, arrived=[2]),
        line(701, "isr.changed", partition="orders-0", isr=[1, 3, 2]),
        line(702, "isr.changed", partition="steady-0", isr=[1, 3, 2]),
        brokers_changed(3_590, gone=[3]),
        line(3_600, "isr.changed", partition="orders-0", isr=[1, 2]),
    ]
    second = [
        line(5, "broker.started", broker=2),
        line(3_500, "log_dir.offline", "error", path="/disk-a", error="<b>EIO</b>"),
    ]
    for number, lines in enumerate((first, second), 1):
        folder = tmp_path / f"broker-{number}"
        folder.mkdir()
        (folder / "server.log").write_text("\n".join(lines) + "\n\n")
    return tmp_path


def test_what_happened_is_found(spark: Any, logs: Path) -> None:
    """Outages by their ends, ISRs by how long they were not complete, lines that are no events."""
    found = telemetry(spark, Logs((f"{logs}/*/server.log",)))
    assert (found.lines, found.passed_over) == (15, 1)
    assert found.logs == {"broker-1/server.log": 12, "broker-2/server.log": 2}
    assert found.end - found.begin == 3_600
    gone, still = found.outages
    assert gone == Outage(2, START.timestamp() + 600.5, 90.0)
    assert (still.broker, still.seconds) == (3, None)
    assert found.isrs == (
        IsrHistory("orders-0", 3, 2, 3, 100.0),
        IsrHistory("steady-0", 1, 3, 3, 0.0),
    )
    assert found.slow == (SlowDecisions("BrokersChanged", 2, 140, 300),)
    assert [it.event for it in found.troubles] == ["log_dir.offline", "controller.process_is_gone"]
    assert sum(sum(it.counts.values()) for it in found.bars) == 14
    assert found.bar_seconds == 60


def test_only_the_newest(spark: Any, logs: Path) -> None:
    """Counted from the newest line, not from today."""
    found = telemetry(spark, Logs((f"{logs}/*/server.log",), last_seconds=120))
    assert sorted(it.event for it in found.events) == [
        "controller.brokers_changed",
        "isr.changed",
        "log_dir.offline",
    ]


def test_the_page_stands_by_itself(spark: Any, logs: Path) -> None:
    """Whole HTML that loads nothing; what events say is text and never markup."""
    text = page(telemetry(spark, Logs((str(logs / "broker-1"), str(logs / "broker-2")))))
    open_tags: list[str] = []

    class Reader(HTMLParser):
        """Each tag that is opened is closed."""

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            """Nothing is fetched."""
            assert tag not in {"script", "link", "img", "iframe"}
            assert not {"src", "href"} & {name for name, _ in attrs}
            if tag != "meta":
                open_tags.append(tag)

        def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            """Such as a bar."""

        def handle_endtag(self, tag: str) -> None:
            """The last one that was opened."""
            assert open_tags.pop() == tag

    Reader().feed(text)
    assert open_tags == []
    assert "&lt;b&gt;EIO&lt;/b&gt;" in text
    assert "2 of 3" in text
    assert "90 s" in text
    assert "until now" in text


def test_logs_that_are_none(spark: Any, tmp_path: Path) -> None:
    """A file that is not there, and one for people."""
    with pytest.raises(PipelineError, match="the logs cannot be read"):
        telemetry(spark, Logs((f"{tmp_path}/none",)))
    (tmp_path / "server.log").write_text("2026-03-01 12:00:00 [info] broker.started\n")
    with pytest.raises(PipelineError, match="no line of a broker's log with --log-format json"):
        telemetry(spark, Logs((f"{tmp_path}/server.log",)))

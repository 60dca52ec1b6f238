"""The telemetry of a cluster as one HTML page: nothing is loaded, nothing runs in it."""

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from odradek.model.counting import counted
from odradek.pipelines.moving.telemetry import LEVELS, Bar, Telemetry, Trouble

COLOURS: Final = {"error": "#c0392b", "warning": "#d99a1c", "info": "#8fa6bb"}
WIDTH: Final = 900
HEIGHT: Final = 120
STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
  color: #1d2733; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #dde3ea;
  vertical-align: top }
code { font-size: 13px; overflow-wrap: anywhere }
.error { color: #c0392b } .warning { color: #9a6a00 }
svg { width: 100%; height: auto } p.none { color: #5d6b7a }
"""


def page(found: Telemetry) -> str:
    """The whole page."""
    sections = [
        _section("Events over time", _chart(found)),
        _section("Brokers that were gone", _outages(found)),
        _section("ISRs that were not complete", _isrs(found)),
        _section("Slow decisions of the controller", _slow(found)),
        _section("Errors and warnings", _troubles(found.troubles)),
        _section("All events", _events(found)),
    ]
    title = f"Odradek, {_when(found.begin)} to {_when(found.end)}"
    logs = ", ".join(f"{name} ({count})" for name, count in found.logs.items())
    lines = counted(found.lines, "line")
    passed = f"; {found.passed_over} of {lines} without an event" * bool(found.passed_over)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}'
        f"</title><style>{STYLE}</style></head><body>\n<h1>{escape(title)}</h1>\n"
        f"<p>Events of {escape(logs)}{passed}. Times are UTC.</p>\n"
        f"{''.join(sections)}</body></html>\n"
    )


def _section(title: str, content: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{content}\n"


def _chart(found: Telemetry) -> str:
    most = max((sum(it.counts.values()) for it in found.bars), default=0)
    span = max(found.end - found.begin, found.bar_seconds)
    width = max(1.0, WIDTH * found.bar_seconds / (span + found.bar_seconds) - 1)
    bars = "".join(
        _bar(it, WIDTH * max(0.0, it.at - found.begin) / (span + found.bar_seconds), width, most)
        for it in found.bars
    )
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="events over time">{bars}</svg>'
        f"<p>A bar is {_span(found.bar_seconds)}; the highest has {most} events. "
        f"{' '.join(f'<span class={it}>{it}</span>' for it in LEVELS)}</p>"
    )


def _bar(bar: Bar, x: float, width: float, most: int) -> str:
    drawn, top = [], float(HEIGHT)
    for level in LEVELS:
        height = HEIGHT * bar.counts[level] / most
        if height:
            height = max(height, 1.5)
            top -= height
            drawn.append(
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
                f'fill="{COLOURS[level]}"/>'
            )
    told = ", ".join(f"{bar.counts[it]} {it}" for it in LEVELS)
    return f"<g><title>{_when(bar.at)}: {told}</title>{''.join(drawn)}</g>"


def _outages(found: Telemetry) -> str:
    rows = [
        (str(it.broker), _when(it.at), "until now" if it.seconds is None else _span(it.seconds))
        for it in found.outages
    ]
    return _table(("broker", "since", "for"), rows, "None.")


def _isrs(found: Telemetry) -> str:
    rows = [
        (it.partition, str(it.changes), f"{it.smallest} of {it.largest}", _span(it.seconds))
        for it in found.isrs
        if it.smallest < it.largest
    ]
    return _table(("partition", "changes", "smallest", "not complete for"), rows, "None.")


def _slow(found: Telemetry) -> str:
    rows = [(it.kind, str(it.count), str(it.median_ms), str(it.max_ms)) for it in found.slow]
    return _table(("event", "count", "median ms", "longest ms"), rows, "None above 100 ms.")


def _events(found: Telemetry) -> str:
    rows = [
        (it.event, it.level, str(it.count), _when(it.first), _when(it.last)) for it in found.events
    ]
    return _table(("event", "level", "count", "first", "last"), rows, "None.")


def _troubles(troubles: Sequence[Trouble]) -> str:
    if not troubles:
        return '<p class="none">None.</p>'
    rows = "".join(
        f"<tr><td>{_when(it.at)}</td><td>{escape(it.log)}</td>"
        f'<td class="{escape(it.level)}">{escape(it.event)}</td>'
        f"<td><code>{escape(_fields(it.line))}</code></td></tr>\n"
        for it in troubles
    )
    return f"<table><tr><th>at</th><th>log</th><th>event</th><th>fields</th></tr>\n{rows}</table>"


def _fields(line: str) -> str:
    """Those that are not shown beside them."""
    shown = {"event", "level", "timestamp"}
    fields = {name: it for name, it in json.loads(line).items() if name not in shown}
    return " ".join(
        f"{name}={it if isinstance(it, str) else json.dumps(it)}" for name, it in fields.items()
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], without: str) -> str:
    content = "".join(
        "<tr>" + "".join(f"<td>{escape(it)}</td>" for it in row) + "</tr>\n" for row in rows
    )
    if not content:
        return f'<p class="none">{escape(without)}</p>'
    titles = "".join(f"<th>{escape(it)}</th>" for it in head)
    return f"<table><tr>{titles}</tr>\n{content}</table>"


def _when(at: float) -> str:
    return f"{dt.datetime.fromtimestamp(at, dt.UTC):%Y-%m-%d %H:%M:%S}"


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7_200 else f"{seconds / 3_600:.3g} h"

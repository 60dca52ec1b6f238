"""What is said of runs: one that failed, many that were had, and the timeline of one."""

import subprocess
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Final

from odradek.sim.history import TRAFFIC, Event
from odradek.sim.lines import PURE, lines_of, never_ran
from odradek.sim.picture import picture
from odradek.sim.simulation import Outcome

STYLE: Final = (
    "body{font:13px/1.4 monospace;margin:1em}td{padding:0 1em 0 0;white-space:pre-wrap;"
    "vertical-align:top}tr:hover{background:#eee}input[size]{font:inherit;margin-bottom:1em}"
    "pre{color:#b00}.world{font-weight:bold;background:#ffd}.data{display:none}"
    ".all .data{display:table-row}"
)
FILTER: Final = (
    "let page=document.body,[search,all]=document.querySelectorAll('input');"
    "all.onchange=()=>page.classList.toggle('all',all.checked);"
    "search.oninput=()=>{let words=search.value.split(' ');"
    "for(let row of document.querySelectorAll('tr'))"
    "row.hidden=!words.every(word=>row.innerText.includes(word))}"
)


def failure(outcome: Outcome) -> str:
    """Everything that is needed to see it again, and what happened last."""
    lines = [f"seed {outcome.seed} of {outcome.kind} failed at commit {commit()}"]
    if outcome.violation is not None:
        lines.append(str(outcome.violation))
    if outcome.missing:
        lines.append("vacuous: it proved nothing, for there was too little of " + _few(outcome))
    lines.append(f"{len(outcome.plan)} strikes: " + _counts(s.fault for s in outcome.plan))
    for who, events in sorted(outcome.last.items()):
        lines.append(f"-- the last of {who}")
        lines.extend(events)
    lines.append(
        f"again: python -m odradek.sim --scenario {outcome.kind} --seed {outcome.seed}"
        + (f" --control {outcome.control}" if outcome.control else "")
    )
    return "\n".join(lines)


def coverage(outcomes: Sequence[Outcome]) -> str:
    """Which faults struck in which states, and how much work was done, over many runs."""
    strikes: Counter[tuple[str, str]] = Counter()
    work: Counter[str] = Counter()
    for outcome in outcomes:
        strikes.update(outcome.strikes)
        work.update(outcome.work)
    states = sorted({state for _, state in strikes})
    faults = sorted({fault for fault, _ in strikes})
    width = max(map(len, faults), default=0) + 2
    lines = ["faults that struck".ljust(width) + "  ".join(state.rjust(14) for state in states)]
    if not strikes:
        lines = []
    for fault in faults:
        cells = "  ".join(str(strikes[fault, state]).rjust(14) for state in states)
        lines.append(fault.ljust(width) + cells)
    lines.append("events: " + ", ".join(f"{what} {n}" for what, n in work.most_common()))
    return "\n".join(lines)


def lines_that_ran(outcomes: Iterable[Outcome], never: Path) -> str:
    """How much of each pure package ran; what did not is written to a file."""
    seen: dict[str, set[int]] = {}
    for outcome in outcomes:
        for file, lines in outcome.lines.items():
            seen.setdefault(file, set()).update(lines)
    missing = never_ran(seen)
    never.write_text(
        "".join(f"{file}: {_ranges(lines)}\n" for file, lines in missing.items() if lines)
    )
    rows = []
    for package in PURE:
        files = [file for file in missing if file.startswith(f"{package}/")]
        total = sum(len(lines_of(file)) for file in files)
        ran = total - sum(len(missing[file]) for file in files)
        if total:
            rows.append(f"{package:12} {ran:6,} of {total:6,} lines ran, {ran / total:4.0%}")
    return "\n".join(rows)


def _ranges(numbers: Sequence[int]) -> str:
    """1-3, 7, 9-10."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{low}-{high}" if low < high else f"{low}" for low, high in runs)


def write_timeline(outcome: Outcome, directory: Path) -> list[Path]:
    """The whole history of one run, for reading and for a browser."""
    events = outcome.timeline or []
    stem = directory / f"{outcome.kind}-{outcome.seed}"
    text, page = stem.with_suffix(".txt"), stem.with_suffix(".html")
    directory.mkdir(parents=True, exist_ok=True)
    text.write_text("".join(f"{event}\n" for event in events))
    page.write_text(_page(outcome, events))
    return [text, page]


def commit() -> str:
    """Of the source that ran; a seed means nothing without it."""
    command = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return done.stdout.strip()


def _page(outcome: Outcome, events: Sequence[Event]) -> str:
    names = sorted(outcome.last)
    hues = {name: 360 * index // max(len(names), 1) for index, name in enumerate(names)}
    rows = "".join(
        f"<tr class='{TRAFFIC if event.what == TRAFFIC else escape(event.who)}'"
        f" style='color:hsl({hues.get(event.who, 0)} 70% 30%)'>"
        f"<td>{event.moment / 1e6:.6f}</td><td>{escape(event.who)}</td>"
        f"<td>{escape(event.what)}</td><td>{escape(' '.join(map(str, event.details)))}</td></tr>"
        for event in events
    )
    title = f"{outcome.kind}, seed {outcome.seed}"
    verdict = "" if outcome.violation is None else f"<pre>{escape(str(outcome.violation))}</pre>"
    return (
        f"<!doctype html><meta charset='utf-8'><title>{title}</title><style>{STYLE}</style>"
        f"<h1>{title}</h1>{verdict}{picture(events)}"
        "<input size='60' placeholder='words that a line must have'>"
        "<label><input type='checkbox'> with the bytes that arrived</label>"
        f"<table>{rows}</table><script>{FILTER}</script>"
    )


def _few(outcome: Outcome) -> str:
    return ", ".join(
        f"{what} ({outcome.work[what]} of {floor})" for what, floor in outcome.missing.items()
    )


def _counts(words: Iterable[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in Counter(words).most_common()) or "none"

"""A run as a picture: machines are lanes, leadership and ISR are bands, faults are marks.

It is drawn from the history alone, as SVG that a browser shows by itself. Under the lane of each
broker is a thin band for each partition: dark where it is the leader that stands in the tree, pale
where it is a member of the ISR. Point at something to read what it is, and when.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final, NamedTuple

from odradek.sim.history import Event
from odradek.sim.stage.broker_machine import name_of

STATE: Final = "partition.state"
"""Partition, leader or -1, leader epoch, ISR: noted whenever the tree has another."""
WIDTH: Final = 1_000
LEFT: Final = 90
LANE: Final = 14
BAND: Final = 5
GAP: Final = 8
PARTITIONS_MAX: Final = 16
ENDS: Final = ("killed", "loses power")
STYLE: Final = (
    "text{font:11px monospace;fill:#333}.life{fill:#cfd8dc}.paused{fill:#eceff1}"
    ".strike{stroke:#c62828;stroke-width:1}.hit{fill:#c62828}.heals{stroke:#2e7d32;stroke-width:2}"
    ".tick{stroke:#ddd}"
)


class Bar(NamedTuple):
    """Something that lasts."""

    row: str
    since: int
    until: int
    look: str  # attributes
    title: str


def picture(events: Sequence[Event]) -> str:
    """The whole run; nothing where nothing happened."""
    if not events:
        return ""
    begin, end = events[0].moment, max(events[-1].moment, events[0].moment + 1)
    partitions = _partitions(events)
    rows = _rows(events, partitions)

    def x(moment: int) -> float:
        return round(LEFT + (moment - begin) * (WIDTH - LEFT) / (end - begin), 1)

    height = max(y + size for y, size in rows.values()) + GAP
    parts = list(_scale(begin, end, height, x=x))
    for bar in (*_lives(events, end), *_bands(events, end, partitions)):
        if bar.row in rows:
            y, size = rows[bar.row]
            parts.append(
                f"<rect x='{x(bar.since)}' y='{y}' width='{max(x(bar.until) - x(bar.since), 0.5)}'"
                f" height='{size}' {bar.look}><title>{escape(bar.title)}</title></rect>"
            )
    for name, (y, size) in rows.items():
        if size == LANE:
            parts.append(f"<text x='0' y='{y + LANE - 3}'>{escape(name)}</text>")
    parts.extend(_marks(events, rows, height, x=x))
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height + 16}'>"
        f"<style>{STYLE}</style>{''.join(parts)}</svg>"
    )


def _partitions(events: Iterable[Event]) -> dict[str, int]:
    """Each with its hue; those that came first, where there are many."""
    found = dict.fromkeys(str(event.details[0]) for event in events if event.what == STATE)
    few = list(found)[:PARTITIONS_MAX]
    return {name: 360 * at // len(few) for at, name in enumerate(few)}


def _rows(events: Iterable[Event], partitions: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Where each lane and band is, and how high."""
    rows: dict[str, tuple[int, int]] = {}
    y = GAP
    for name in sorted({event.who for event in events if event.what == "starts"}):
        rows[name] = (y, LANE)
        y += LANE
        if name.startswith(f"{name_of(0)[:-1]}"):
            for partition in partitions:
                rows[f"{name} {partition}"] = (y, BAND)
                y += BAND
        y += GAP
    return rows


def _scale(begin: int, end: int, height: int, *, x: object) -> Iterator[str]:
    assert callable(x)
    second = 1_000_000
    step = max(1, round((end - begin) / second / 10)) * second
    for moment in range(begin - begin % step + step, end, step):
        yield f"<line class='tick' x1='{x(moment)}' x2='{x(moment)}' y1='0' y2='{height}'/>"
        yield f"<text x='{x(moment)}' y='{height + 12}'>{moment // second} s</text>"


def _lives(events: Iterable[Event], end: int) -> Iterator[Bar]:
    """From each start to the next end, and within it the times in which it stood still."""
    up: dict[str, Event] = {}
    still: dict[str, int] = {}
    bars: list[Bar] = []

    def over(who: str, moment: int, how: str) -> None:
        life = up.pop(who, None)
        if life is not None:
            said = f"{who}, life {life.details[0]}, {how}"
            bars.append(Bar(who, life.moment, moment, "class='life'", said))
        if who in still:
            bars.append(Bar(who, still.pop(who), moment, "class='paused'", f"{who} is paused"))

    for event in events:
        if event.what == "starts":
            up[event.who] = event
        elif event.what in ENDS:
            over(event.who, event.moment, event.what)
        elif event.what == "pauses":
            still[event.who] = event.moment
        elif event.what == "resumes" and event.who in still:
            since = still.pop(event.who)
            bars.append(Bar(event.who, since, event.moment, "class='paused'", "paused"))
    for who in list(up):
        over(who, end, "to the end")
    return iter(sorted(bars, key=lambda bar: bar.look))  # what is paused lies above


def _bands(events: Iterable[Event], end: int, partitions: dict[str, int]) -> Iterator[Bar]:
    """For each state of a partition, a band at each member of its ISR."""
    states: dict[str, list[Event]] = defaultdict(list)
    for event in events:
        if event.what == STATE:
            states[str(event.details[0])].append(event)
    for name, hue in partitions.items():
        ends = [*(event.moment for event in states[name][1:]), end]
        for state, until in zip(states[name], ends, strict=True):
            _, leader, epoch, isr = state.details
            for broker in isr:
                leads = broker == leader
                title = f"{name}: {leader} leads in epoch {epoch}, ISR {list(isr)}"
                look = f"fill='hsl({hue} 65% {38 if leads else 80}%)'"
                row = f"{name_of(broker)} {name}"
                yield Bar(row, state.moment, until, look, f"{state.moment / 1e6:.3f} {title}")


def _marks(
    events: Iterable[Event], rows: dict[str, tuple[int, int]], height: int, *, x: object
) -> Iterator[str]:
    """A fault is a dot at whom it struck, or a line through all."""
    assert callable(x)
    for event in events:
        at = x(event.moment)
        title = f"<title>{escape(str(event))}</title>"
        if event.what == "heals":
            yield f"<line class='heals' x1='{at}' x2='{at}' y1='0' y2='{height}'>{title}</line>"
        elif event.what == "strikes":
            struck = str(event.details[1]).split()[0].split("/")[0]
            if struck in rows:
                y, size = rows[struck]
                yield f"<circle class='hit' cx='{at}' cy='{y + size / 2}' r='2.5'>{title}</circle>"
            else:
                yield f"<line class='strike' x1='{at}' x2='{at}' y1='0' y2='{GAP}'>{title}</line>"

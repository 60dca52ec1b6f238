"""Two sides of a comparison in turns of seconds, in pairs, and what the machine was like meanwhile.

A machine that others use has another speed each minute, so figures of two runs say little. Here
one side works for some seconds and then the other, again and again; the order changes from pair to
pair, each is warmed by a pair that is shown apart, and what is told of the two is the ratio within
each pair: the median of them, and the range. Beside each pair stands how long a fixed loop, a GiB
of fresh memory and a plain write took then; where one of these took much longer in one pair than
in the quickest, the run says that it is spoiled.
"""

import mmap
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final, NamedTuple

LOOP: Final = 2_000_000  # rounds
FRESH_BYTES: Final = 1 << 30
WRITTEN: Final = bytes(1 << 20)
WRITES: Final = 64
SPOILED: Final = 1.5
"""A part of the machine that takes so many times as long as in another pair is another machine."""

Figures = dict[str, float]
Turn = Callable[[int], Figures]
"""Some seconds of one side's work: the number of its turn in, figures out."""


class Machine(NamedTuple):
    """What this machine was like at a moment, in milliseconds."""

    loop: float
    memory: float
    write: float


class Pair(NamedTuple):
    """One turn of each side, and the machine just before."""

    ours: Figures
    theirs: Figures  # none where one side is measured alone
    machine: Machine


def machine(folder: Path | None = None) -> Machine:
    """Half a second's look at it."""
    return Machine(_timed(_loop), _timed(_fresh_memory), _timed(lambda: _write(folder)))


def _timed(work: Callable[[], None]) -> float:
    began = perf_counter()
    work()
    return 1_000 * (perf_counter() - began)


def _loop() -> None:
    total = 0
    for number in range(LOOP):
        total += number & 7
    assert total, "it was computed"


def _fresh_memory() -> None:
    """Each page is touched, so that the kernel has to find it."""
    with mmap.mmap(-1, FRESH_BYTES) as memory:
        for at in range(0, FRESH_BYTES, mmap.PAGESIZE):
            memory[at] = 1


def _write(folder: Path | None) -> None:
    """Into the page cache, as a log is written."""
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        for _ in range(WRITES):
            os.write(file.fileno(), WRITTEN)


def in_turns(
    ours: Turn, theirs: Turn | None, pairs: int, look: Callable[[], Machine] = machine
) -> list[Pair]:
    """One pair that warms both, and then so many."""
    found: list[Pair] = []
    for number in range(1 + pairs):
        then = look()
        others = theirs(number) if theirs is not None and not number % 2 else {}
        mine = ours(number)
        if theirs is not None and number % 2:
            others = theirs(number)
        found.append(Pair(mine, others, then))
    return found


def ratios(pairs: Sequence[Pair], figure: str) -> list[float]:
    """Ours to theirs, of each pair."""
    return [it.ours[figure] / max(it.theirs[figure], 1e-9) for it in pairs]


def spoiled(pairs: Sequence[Pair]) -> list[str]:
    """Why ratios of this run are not to be relied on."""
    reasons = []
    for part in Machine._fields:
        times = [float(getattr(it.machine, part)) for it in pairs]
        if max(times) > SPOILED * min(times):
            reasons.append(f"{part} took {min(times):,.0f} to {max(times):,.0f} ms")
    return reasons


def told(name: str, pairs: Sequence[Pair], sides: tuple[str, str] = ("ours", "theirs")) -> str:
    """A table of the figures, and the machine below it."""
    lines = [f"{name}: min / median / max of {len(pairs) - 1} pairs, their ratios, and the first"]
    for figure in pairs[0].ours:
        line = f"  {figure:22} {sides[0]} {spread([it.ours[figure] for it in pairs[1:]]):26}"
        if pairs[0].theirs:
            first, *others = ratios(pairs, figure)
            theirs = spread([it.theirs[figure] for it in pairs[1:]])
            line += f" {sides[1]} {theirs:26} ratio {spread(others):22} first {first:,.3g}"
        lines.append(line)
    for part in Machine._fields:
        times = ", ".join(f"{getattr(it.machine, part):,.0f}" for it in pairs)
        lines.append(f"  the machine's {part:8} {times} ms")
    reasons = spoiled(pairs)
    if reasons:
        lines.append(f"  SPOILED, measure again: {'; '.join(reasons)}")
    return "\n".join(lines)


def spread(values: Sequence[float]) -> str:
    """Minimum, median, maximum."""
    return " / ".join(f"{it:,.3g}" for it in (min(values), median(values), max(values)))

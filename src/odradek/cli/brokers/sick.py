"""One thing that is wrong in a cluster, and the partitions that suffer from it, for a line."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.model.causes import CauseKind
from odradek.model.counting import counted

TOPICS_NAMED: Final = 4
RUNS_NAMED: Final = 8
"""More are only counted, on the screen; `--json` has them all."""

Partitions = Mapping[str, list[int]]
"""Numbers of partitions by topic."""
COLUMNS: Final = ("cause", "problem", "partitions")
"""On the screen; `--json` has all fields."""


class Sick(NamedTuple):
    """One thing that is wrong: why, of what kind, and what suffers from it."""

    cause: str
    problem: str
    partitions: Partitions = MappingProxyType({})
    kind: CauseKind = CauseKind.OTHER
    brokers: tuple[int, ...] = ()

    @property
    def where(self) -> str:
        """The partitions, for a line."""
        count = sum(map(len, self.partitions.values()))
        if not count:
            return "-"
        named = [f"{topic}: {spans(them)}" for topic, them in self.partitions.items()]
        more = len(named) - TOPICS_NAMED
        rest = f" and {counted(more, 'more topic')}" if more > 0 else ""
        return f"{count} ({', '.join(named[:TOPICS_NAMED])}{rest})"


def spans(numbers: Iterable[int]) -> str:
    """`0-3 7`: runs of numbers are told by their ends, the first of many runs are enough."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    shown = runs[:RUNS_NAMED]
    more = sum(high - low + 1 for low, high in runs[RUNS_NAMED:])
    text = " ".join(str(low) if low == high else f"{low}-{high}" for low, high in shown)
    return f"{text} and {more} more" if more else text

"""Numbers on the command line: what is none, or out of bounds, is refused in plain words."""

from math import isfinite, nan
from typing import Any, Final

import click

LARGEST: Final = (1 << 63) - 1
"""Kafka's protocol holds no number above it; partitions and replicas have fields of their own."""
PARTITIONS_MAX: Final = (1 << 31) - 1
REPLICAS_MAX: Final = (1 << 15) - 1

Parameter = click.Parameter | None
Context = click.Context | None


class Whole(click.IntRange):
    """A whole number: an offset, a broker, a count. Help tells its bounds, not the protocol's."""

    def __init__(self, *bounds: int, largest: int = LARGEST, **named: int) -> None:
        super().__init__(*bounds, **named)  # type: ignore[arg-type]  # two numbers at most
        self.largest = largest

    def _describe_range(self) -> str:
        """Of help; click's own tells of none that it is `x<=None`."""
        return "" if self.min is None and self.max is None else super()._describe_range()

    def convert(self, value: Any, param: Parameter, ctx: Context) -> int:
        """Within its bounds."""
        try:
            found = int(value)
        except ValueError:
            self.fail(f"{value!r} is not a whole number", param, ctx)
        _check(self, found, param, ctx)
        if found > self.largest:
            self.fail(f"{found} is too large: {self.largest} or less", param, ctx)
        return found


class Number(click.FloatRange):
    """A number that may have a fraction: seconds."""

    def convert(self, value: Any, param: Parameter, ctx: Context) -> float:
        """Within its bounds."""
        try:
            found = float(value)
        except ValueError:
            found = nan
        if not isfinite(found):
            self.fail(f"{value!r} is not a number", param, ctx)
        _check(self, found, param, ctx)
        return found


def _check(kind: Whole | Number, found: float, param: Parameter, ctx: Context) -> None:
    if kind.min is not None and found < kind.min:
        kind.fail(f"{found} is too small: {kind.min} or more", param, ctx)
    if kind.max is not None and found > kind.max:
        kind.fail(f"{found} is too large: {kind.max} or less", param, ctx)

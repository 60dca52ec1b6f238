"""From positions to ranges: what is to be read between two of them, cut into tasks."""

from odradek.pipelines.positions import OffsetRange, Positions
from odradek.pipelines.source.options import SourceOptions


def plan(options: SourceOptions, start: Positions, end: Positions) -> list[OffsetRange]:
    """The ranges of one batch: all of `end`, from `start` on or from 0 for a new partition.

    Empty ranges are left out; large ones are cut as `options.splits` says.
    """
    raise NotImplementedError

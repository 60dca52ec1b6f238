"""In which log dir a new log is made: the one rule, for creation, moves and plans.

A dir that the operator asked for is obeyed while it serves. Otherwise the log goes to the dir with
the fewest logs, those included that are being made or moved there; equal ones in the order of the
setting. An offline dir takes no log, and neither does a cordoned one, unless it is asked for by
name.
"""

from collections.abc import Iterable
from typing import NamedTuple


class Candidate(NamedTuple):
    """A log dir that serves, as far as placement looks at it."""

    name: str
    logs: int  # current and future ones, and those on their way
    cordoned: bool = False


def choose_dir(candidates: Iterable[Candidate], requested: str | None = None) -> str | None:
    """The dir of the next log; None where every dir is offline or cordoned."""
    serving = list(candidates)
    for candidate in serving:
        if candidate.name == requested:
            return requested
    open_ones = [candidate for candidate in serving if not candidate.cordoned]
    if not open_ones:
        return None
    return min(open_ones, key=lambda candidate: candidate.logs).name

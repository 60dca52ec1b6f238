"""Who may touch what a log is made of: the loop, or the one job to which it is lent.

Segments, producers and epochs of a log, and the tables of a log dir, belong to the loop. A job that
only looks has a view of its own, and one that writes what was decided has what was handed to it. A
job that needs the log itself (a truncation, the end of a broker) is lent it from its submission to
its end: meanwhile the loop leaves it alone. It may be lent to the next job of the same thread, too.
In the worlds of the simulator a touch by the wrong side raises.
"""

from collections.abc import Iterable
from typing import Final, Protocol

Holders = tuple[object, ...]
"""Jobs of one worker, of which each has the thing when its turn comes."""

ANYBODY: Final[Holders] = (object(),)
"""Holds what was made for one job alone."""


class Lent(Protocol):
    """What may be lent."""

    lent_to: Holders | None

    def on_lent(self) -> None:
        """From now on it is a job's. On the loop, which may still look."""
        ...


def lend(things: Iterable[Lent], job: object) -> None:
    """From now on they are this job's. On the loop."""
    for thing in things:
        if thing.lent_to is None:
            thing.on_lent()
        thing.lent_to = (*(thing.lent_to or ()), job)


def give_back(things: Iterable[Lent], job: object) -> None:
    """The job has ended: they are the loop's again, unless another waits for its turn."""
    for thing in things:
        thing.lent_to = tuple(it for it in thing.lent_to or () if it is not job) or None

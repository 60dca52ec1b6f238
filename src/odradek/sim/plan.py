"""Which faults strike in a run, and when: a swarm, drawn before the run begins.

Each run takes some of the fault classes, each with an intensity of its own, and sometimes none:
faults that always come together hide each other. The plan is a list, so a failing run can be made
smaller by leaving strikes out; each fault and each strike has a stream of chance of its own, so
those that stay do the same harm, and a class of faults that is new leaves the others as they were.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Final, NamedTuple

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND

PERIODS: Final = tuple(seconds * SECOND for seconds in (1, 3, 10, 30))
QUIET_ONE_IN: Final = 12  # so many runs to one without a fault
STRIKES_MAX: Final = 400


class Strike(NamedTuple):
    """One fault, at one moment; its name and number are those of its stream of chance."""

    moment: int
    fault: str
    number: int


Plan = tuple[Strike, ...]


def draw_plan(chance: SeededRandom, faults: Sequence[str], seconds: int) -> Plan:
    """A random subset of the faults, with random intensities."""
    if chance.one_in(QUIET_ONE_IN):
        return ()
    strikes = [
        strike for fault in faults for strike in _strikes(chance.stream(fault), fault, seconds)
    ]
    return tuple(sorted(strikes)[:STRIKES_MAX])


def _strikes(chance: SeededRandom, fault: str, seconds: int) -> Iterator[Strike]:
    """Of one fault, whatever the others do."""
    if chance.below(2):
        return
    period = PERIODS[chance.below(len(PERIODS))]
    moment = chance.below(2 * period)
    for number in count():
        if moment >= seconds * SECOND:
            return
        yield Strike(moment, fault, number)
        moment += 1 + chance.below(2 * period)


def smaller(plan: Plan, still_fails: Callable[[Plan], bool]) -> Plan:
    """Leaves out ever smaller parts of the plan as long as the run still fails."""
    size = len(plan)
    while size:
        at = 0
        while at < len(plan):
            candidate = plan[:at] + plan[at + size :]
            if len(candidate) < len(plan) and still_fails(candidate):
                plan = candidate
            else:
                at += size
        size //= 2
    return plan

"""`python -m odradek.sim`: runs worlds by their seeds, and says what came of them.

Exit codes: 0 all is well, 2 the command is wrong, 3 a run was vacuous, 101 a promise was broken.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from odradek.sim import coverage, report
from odradek.sim.many import run_many, seconds_of, shrunk
from odradek.sim.simulation import Outcome, Simulation, run, too_little
from odradek.sim.worlds import ALL, NAMES, kind

PASSED: Final = 0
WRONG: Final = 2
VACUOUS: Final = 3
VIOLATED: Final = 101


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    options = _parser().parse_args(arguments)
    if options.scenario not in {None, *ALL}:
        return _converse(options)
    each_day = ALL if options.coverage else NAMES
    kinds = [kind(name) for name in ([options.scenario] if options.scenario else each_day)]
    if options.control and any(options.control not in each.controls for each in kinds):
        print(f"no such control: {options.control}", file=sys.stderr)
        return WRONG
    if options.coverage is not None and not coverage.has_place(options.coverage):
        print(f"{options.coverage} has no {coverage.BEGIN} ... {coverage.END}", file=sys.stderr)
        return WRONG
    if options.seed is not None:
        return max(_one(each, options) for each in kinds)
    runs = {each.name: partial(run, each, control=options.control) for each in kinds}
    by_name = {each.name: each for each in kinds}
    outcomes = run_many(runs, by_name, options)
    return max(_code(outcomes), *(_judge_many(each, outcomes) for each in kinds))


def _judge_many(simulated: type[Simulation], outcomes: Iterable[Outcome]) -> int:
    """What no single run must have, many must have had while faults struck."""
    those = [it for it in outcomes if it.kind == simulated.name]
    missing = too_little(those, simulated.floors_of_many)
    for what, floor in missing.items():
        print(f"{simulated.name} is vacuous: less than {floor} of {what} while faults struck")
    return VACUOUS if missing else PASSED


def _converse(options: argparse.Namespace) -> int:
    """One conversation, by one seed or by many."""
    from odradek.sim.conversations import (  # noqa: PLC0415 - worlds need none of it
        KNOWN,
        conversations,
        converse,
    )

    name, control, known = options.scenario, options.control, conversations()
    if name not in known or options.shrink:
        print(f"no such scenario: {name}; there are:", *ALL, *known, sep="\n  ", file=sys.stderr)
        return WRONG
    if control and control not in KNOWN:
        print(f"no such control: {control}; there are:", *KNOWN, sep="\n  ", file=sys.stderr)
        return WRONG
    if options.seed is None:
        return _code(run_many({name: partial(converse, name, control=control)}, {}, options))
    timeline = options.trace is not None
    return _say(converse(name, options.seed, control=control, timeline=timeline), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("odradek.sim", description="Simulates worlds by their seeds.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seeds", type=int, metavar="N", help="run so many")
    which.add_argument(
        "--for", dest="seconds", type=seconds_of, metavar="TIME", help="run so long: 90s, 10m, 2h"
    )
    which.add_argument("--seed", type=int, metavar="N", help="run this one, and print its digest")
    parser.add_argument(
        "--from",
        dest="first",
        default="1",
        metavar="S",
        help="the first of many; 'today' takes seeds that no other day has",
    )
    parser.add_argument(
        "--scenario",
        metavar="NAME",
        help=f"one kind of world ({', '.join(ALL)}), or one conversation; else all worlds",
    )
    parser.add_argument("--control", default="", help="switch on a known mistake: it must be found")
    parser.add_argument(
        "--shrink",
        action="store_true",
        help="leave out faults while it fails; of many, for one run of each promise",
    )
    parser.add_argument(
        "--lines",
        type=Path,
        metavar="FILE",
        help="of many: count the lines that ran, write the others there; slow before Python 3.12",
    )
    parser.add_argument(
        "--coverage",
        type=Path,
        metavar="FILE",
        help="of many, of every kind: write what was met and what never ran into this document",
    )
    parser.add_argument("--trace", type=Path, metavar="DIR", help="write the timeline there")
    return parser


def _one(simulated: type[Simulation], options: argparse.Namespace) -> int:
    outcome = run(
        simulated, options.seed, control=options.control, timeline=options.trace is not None
    )
    if options.shrink and not outcome.passed:
        outcome = shrunk(simulated, outcome, timeline=options.trace is not None)
    return _say(outcome, options)


def _say(outcome: Outcome, options: argparse.Namespace) -> int:
    """Everything about one run."""
    if options.trace is not None:
        for path in report.write_timeline(outcome, options.trace):
            print(f"timeline {path}")
    if not outcome.passed:
        print(report.failure(outcome))
    print(f"digest {outcome.digest} {outcome.kind} {outcome.seed}")
    return _code([outcome])


def _code(outcomes: Iterable[Outcome]) -> int:
    codes = [
        VIOLATED if outcome.violation is not None else VACUOUS if outcome.missing else PASSED
        for outcome in outcomes
    ]
    return max(codes, default=PASSED)


if __name__ == "__main__":
    sys.exit(main())

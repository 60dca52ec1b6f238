"""`python -m odradek.sim`: runs worlds by their seeds, and says what came of them.

Exit codes: 0 all is well, 2 the command is wrong, 3 a run was vacuous, 101 a promise was broken.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from odradek.sim import report
from odradek.sim.many import (
    FRESH_SEEDS,
    fresh_seed,
    run_many,
    say_who_finds,
    seconds_of,
    shrunk,
)
from odradek.sim.simulation import Outcome, Simulation, run, too_little
from odradek.sim.worlds import ALL, LARGE, NAMES, kind

PASSED: Final = 0
WRONG: Final = 2
VACUOUS: Final = 3
VIOLATED: Final = 101
MISTAKE_SEEDS: Final = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    options = _options(arguments)
    if options.scenario not in {None, *ALL, *LARGE}:
        return _converse(options)
    each_day = ALL if options.coverage else NAMES
    kinds = [kind(name) for name in ([options.scenario] if options.scenario else each_day)]
    if options.control and any(options.control not in each.controls for each in kinds):
        print(f"no such control: {options.control}", file=sys.stderr)
        return WRONG
    if options.mistakes is not None:
        seeds = range(options.first, options.first + options.seeds)
        names = list(filter(None, options.mistakes.split(",")))
        found = [say_who_finds(each, names or each.controls, seeds) for each in kinds]
        return PASSED if all(found) else VACUOUS
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
    idle = sum(it.idle for it in those)
    if idle:
        print(f"{simulated.name}: {idle} of {len(those)} were idle, below {simulated.busy}")
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
        there_are = (*ALL, *LARGE, *known)
        print(f"no such scenario: {name}; there are:", *there_are, sep="\n  ", file=sys.stderr)
        return WRONG
    if control and control not in KNOWN:
        print(f"no such control: {control}; there are:", *KNOWN, sep="\n  ", file=sys.stderr)
        return WRONG
    if options.seed is None:
        return _code(run_many({name: partial(converse, name, control=control)}, {}, options))
    timeline = options.trace is not None
    return _say(converse(name, options.seed, control=control, timeline=timeline), options)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What was asked for; fresh seeds are drawn here, and said before the first runs."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.mistakes is not None and options.seeds is None:
        options.seeds = MISTAKE_SEEDS
    is_given = any(it is not None for it in (options.seeds, options.seconds, options.seed))
    if not (is_given or options.fresh):
        parser.error("one of --seeds, --for, --seed, --fresh is needed")
    if options.fresh and options.seed is not None:
        parser.error("--seed names one, --fresh draws many")
    if options.fresh:
        options.first = fresh_seed()
        options.seeds = options.seeds if is_given else FRESH_SEEDS
        print(f"fresh seeds: --from {options.first} repeats them", flush=True)
    return options


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("odradek.sim", description="Simulates worlds by their seeds.")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--seeds", type=int, metavar="N", help="run so many")
    which.add_argument(
        "--for", dest="seconds", type=seconds_of, metavar="TIME", help="run so long: 90s, 10m, 2h"
    )
    which.add_argument("--seed", type=int, metavar="N", help="run this one, and print its digest")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--from", dest="first", type=int, default=1, metavar="S", help="the first of many"
    )
    where.add_argument(
        "--fresh",
        action="store_true",
        help="seeds that were never tried: the first is drawn, and printed;"
        f" {FRESH_SEEDS} of each kind if nothing else is said",
    )
    parser.add_argument(
        "--scenario",
        metavar="NAME",
        help=f"one kind of world ({', '.join((*ALL, *LARGE))}), or one conversation; "
        "else those that are short",
    )
    parser.add_argument("--control", default="", help="switch on a known mistake: it must be found")
    parser.add_argument(
        "--mistakes",
        nargs="?",
        const="",
        metavar="NAME,NAME",
        help=f"print which of {MISTAKE_SEEDS} seeds, or --seeds, finds each first",
    )
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
        action="store_true",
        help="of many, of every kind: print what was met, and what never ran",
    )
    parser.add_argument("--trace", type=Path, metavar="DIR", help="write the timeline there")
    return parser


def _one(simulated: type[Simulation], options: argparse.Namespace) -> int:
    timeline = options.trace is not None
    outcome = run(simulated, options.seed, control=options.control, timeline=timeline)
    if options.shrink and not outcome.passed:
        outcome = shrunk(simulated, outcome, timeline=timeline)
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

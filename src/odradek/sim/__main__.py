"""`python -m odradek.sim`: runs worlds by their seeds, and says what came of them.

Exit codes: 0 all is well, 2 the command is wrong, 3 a run was vacuous, 101 a promise was broken.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from odradek.sim import report
from odradek.sim.batch import Run, run_all
from odradek.sim.plan import Plan, smaller
from odradek.sim.simulation import Outcome, Simulation, run
from odradek.sim.worlds import ALL, NAMES, kind

PASSED: Final = 0
WRONG: Final = 2
VACUOUS: Final = 3
VIOLATED: Final = 101
SEEDS_PER_DAY: Final = 100_000  # a day's fresh seeds meet no other day's


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit code."""
    options = _parser().parse_args(arguments)
    if options.scenario not in {None, *ALL}:
        return _converse(options)
    kinds = [kind(name) for name in ([options.scenario] if options.scenario else NAMES)]
    if options.control and any(options.control not in each.controls for each in kinds):
        print(f"no such control: {options.control}", file=sys.stderr)
        return WRONG
    if options.seed is not None:
        return max(_one(each, options) for each in kinds)
    runs = {each.name: partial(run, each, control=options.control) for each in kinds}
    return _many(runs, options)


def _converse(options: argparse.Namespace) -> int:
    """One conversation, by one seed or by many."""
    from odradek.sim.conversations import (  # noqa: PLC0415 - worlds need none of it
        conversations,
        converse,
    )

    name, known = options.scenario, conversations()
    if name not in known or options.control or options.shrink:
        print(f"no such scenario: {name}; there are:", *ALL, *known, sep="\n  ", file=sys.stderr)
        return WRONG
    if options.seed is None:
        return _many({name: partial(converse, name)}, options)
    return _say(converse(name, options.seed, timeline=options.trace is not None), options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("odradek.sim", description="Simulates worlds by their seeds.")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seeds", type=int, metavar="N", help="run so many")
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
    parser.add_argument("--shrink", action="store_true", help="leave out faults while it fails")
    parser.add_argument(
        "--lines",
        type=Path,
        metavar="FILE",
        help="of many: count the lines that ran, write the others there; slow before Python 3.12",
    )
    parser.add_argument("--trace", type=Path, metavar="DIR", help="write the timeline there")
    return parser


def _one(simulated: type[Simulation], options: argparse.Namespace) -> int:
    outcome = run(
        simulated, options.seed, control=options.control, timeline=options.trace is not None
    )
    if options.shrink and not outcome.passed:
        outcome = _shrunk(simulated, outcome, timeline=options.trace is not None)
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


def _shrunk(simulated: type[Simulation], outcome: Outcome, *, timeline: bool) -> Outcome:
    """The same failure with as few strikes as can be found."""

    def still_fails(plan: Plan) -> bool:
        again = run(simulated, outcome.seed, plan=plan, control=outcome.control)
        if sys.stdout.isatty():
            said = "passes" if again.passed else "fails"
            print(f"\r{len(plan)} strikes: {said}   ", end="", flush=True)
        return _name(again) == _name(outcome)

    plan = smaller(outcome.plan, still_fails)
    print(
        f"{chr(13) if sys.stdout.isatty() else ''}{len(outcome.plan)} strikes are now {len(plan)}:"
    )
    for strike in plan:
        print(f"  {strike.moment / 1e6:.6f} {strike.fault} #{strike.number}")
    return run(simulated, outcome.seed, plan=plan, control=outcome.control, timeline=timeline)


def _name(outcome: Outcome) -> str:
    if outcome.violation is not None:
        return outcome.violation.invariant
    return "vacuous" if outcome.missing else ""


def _many(runs: Mapping[str, Run], options: argparse.Namespace) -> int:
    today = int(time.time() // 86_400) * SEEDS_PER_DAY
    first = today if options.first == "today" else int(options.first)
    seeds = range(first, first + options.seeds)
    began = time.monotonic()
    all_of_them = run_all(runs.values(), seeds, lines=options.lines is not None)
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(_with_bar(all_of_them, len(runs) * len(seeds)))
    except KeyboardInterrupt:
        print("interrupted; until then:")
    seconds = time.monotonic() - began
    failed = sorted((each.kind, each.seed) for each in outcomes if not each.passed)
    for name in runs:
        print(report.coverage([outcome for outcome in outcomes if outcome.kind == name]))
    if options.lines is not None:
        print(report.lines_that_ran(outcomes, options.lines))
    print(
        f"{len(outcomes)} runs from seed {first}, {len(failed)} failed"
        f"{''.join(f', {name} {seed}' for name, seed in failed)}; "
        f"{len(outcomes) / seconds:.1f} runs/s, "
        f"{sum(outcome.events for outcome in outcomes) / seconds:,.0f} events/s"
    )
    return _code(outcomes)


def _with_bar(outcomes: Iterable[Outcome], total: int) -> Iterator[Outcome]:
    """Shows how far it is, and how fast, where somebody looks; and at once what has failed."""
    import click  # noqa: PLC0415 - a single seed needs none of it

    began, number, failed = time.monotonic(), 0, 0

    def speed(_: object) -> str:
        return f"{number / (time.monotonic() - began):.1f} runs/s, {failed} failed"

    is_hidden = not sys.stdout.isatty()
    with click.progressbar(
        length=total, show_pos=True, item_show_func=speed, hidden=is_hidden
    ) as bar:
        for number, outcome in enumerate(outcomes, start=1):  # noqa: B007 - for the bar
            failed += not outcome.passed
            bar.update(1, outcome)
            if not outcome.passed:
                print("" if is_hidden else "\n", report.failure(outcome), "", sep="\n")
            yield outcome


def _code(outcomes: Iterable[Outcome]) -> int:
    codes = [
        VIOLATED if outcome.violation is not None else VACUOUS if outcome.missing else PASSED
        for outcome in outcomes
    ]
    return max(codes, default=PASSED)


if __name__ == "__main__":
    sys.exit(main())

"""Many runs: how far they are, what failed, what little still fails, and the table at the end."""

import secrets
import sys
import time
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import count, takewhile
from typing import Final

from odradek.sim import coverage, report
from odradek.sim.batch import Run, run_all
from odradek.sim.plan import Plan, smaller
from odradek.sim.simulation import Outcome, Simulation, run

FRESH_SEEDS: Final = 100  # of each kind, unless more are asked for
SEED_END: Final = 10**9
LINE_SECONDS: Final = 60  # between two of a run that no terminal shows
UNITS: Final = {"s": 1, "m": 60, "h": 3_600}

Kinds = Mapping[str, type[Simulation]]


def seconds_of(text: str) -> int:
    """Of 90s, 10m, or 2h."""
    number, unit = text[:-1], text[-1:]
    if unit not in UNITS or not number.isdecimal():
        raise ValueError(text)
    return int(number) * UNITS[unit]


def run_many(runs: Mapping[str, Run], kinds: Kinds, options: Namespace) -> list[Outcome]:
    """Runs each by each seed, and says what came of it; kinds are those that can be shrunk."""
    first = options.first
    began = time.monotonic()
    if options.seconds is None:
        seeds: Iterable[int] = range(first, first + options.seeds)
        total = len(runs) * options.seeds
    else:
        end, total = began + options.seconds, options.seconds
        seeds = takewhile(lambda _: time.monotonic() < end, count(first))
    sees_lines = options.lines is not None or options.coverage
    found = run_all(runs.values(), seeds, lines=sees_lines)
    outcomes: list[Outcome] = []
    try:
        outcomes.extend(_with_bar(found, total, by_time=options.seconds is not None))
    except KeyboardInterrupt:
        print("interrupted; until then:")
    seconds = time.monotonic() - began
    if options.shrink:
        _shrink_each(outcomes, kinds)
    _say(runs, outcomes, options, first=first, seconds=seconds)
    if options.coverage:
        print(coverage.written(outcomes))
    return outcomes


def say_who_finds(kind: type[Simulation], mistakes: Iterable[str], seeds: Iterable[int]) -> bool:
    """Prints the first of the seeds that finds each known mistake; whether all were found."""
    left = dict.fromkeys(mistakes)
    for seed in seeds:
        if not left:
            break
        runs = [partial(run, kind, control=mistake) for mistake in left]
        for outcome in run_all(runs, [seed]):
            if outcome.violation is not None:
                del left[outcome.control]
                print(f'    "{outcome.control}": {seed},', flush=True)
    print(f"not found: {', '.join(left) or 'none'}")
    return not left


def fresh_seed() -> int:
    """Where seeds begin that were, as good as surely, never tried."""
    return secrets.randbelow(SEED_END)


def _say(
    runs: Iterable[str], outcomes: list[Outcome], options: Namespace, *, first: int, seconds: float
) -> None:
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


def _with_bar(outcomes: Iterable[Outcome], total: int, *, by_time: bool) -> Iterator[Outcome]:
    """Shows how far it is, and how fast, and at once what has failed.

    On a terminal by a bar; in a file by a line now and then.
    """
    import click  # noqa: PLC0415 - a single seed needs none of it

    told = began = time.monotonic()
    failed = 0
    is_hidden = not sys.stdout.isatty()

    def speed(number: int | None) -> str:
        return f"{(number or 0) / (time.monotonic() - began):.1f} runs/s, {failed} failed"

    with click.progressbar(
        length=total, show_pos=not by_time, item_show_func=speed, hidden=is_hidden
    ) as bar:
        for number, outcome in enumerate(outcomes, start=1):
            failed += not outcome.passed
            so_far = min(total, int(time.monotonic() - began)) if by_time else number
            bar.update(so_far - bar.pos, number)
            if is_hidden and time.monotonic() - told >= LINE_SECONDS:
                told = time.monotonic()
                print(f"{number} runs so far; {speed(number)}", flush=True)
            if not outcome.passed:
                print("" if is_hidden else "\n", report.failure(outcome), "", sep="\n")
            yield outcome


# Making failures smaller


def _shrink_each(outcomes: Iterable[Outcome], kinds: Kinds) -> None:
    """One run for each promise that was broken: others that break it break it alike."""
    failed: dict[tuple[str, str], Outcome] = {}
    for outcome in sorted(outcomes, key=lambda it: len(it.plan)):
        if not outcome.passed:
            failed.setdefault((outcome.kind, _failure(outcome)), outcome)
    for (kind, failure), outcome in failed.items():
        print(f"{kind} {outcome.seed}, {failure}: ", end="")
        shrunk(kinds[kind], outcome)


def shrunk(kind: type[Simulation], outcome: Outcome, *, timeline: bool = False) -> Outcome:
    """The same failure with as few strikes as can be found."""

    def still_fails(plan: Plan) -> bool:
        again = _again(kind, outcome, plan)
        if sys.stdout.isatty():
            said = "passes" if again.passed else "fails"
            print(f"\r{len(plan)} strikes: {said}   ", end="", flush=True)
        return _failure(again) == _failure(outcome)

    plan = smaller(outcome.plan, still_fails)
    print(
        f"{chr(13) if sys.stdout.isatty() else ''}{len(outcome.plan)} strikes are now {len(plan)}:"
    )
    for strike in plan:
        print(f"  {strike.moment / 1e6:.6f} {strike.fault} #{strike.number}")
    return _again(kind, outcome, plan, timeline=timeline)


def _again(
    kind: type[Simulation], outcome: Outcome, plan: Plan, *, timeline: bool = False
) -> Outcome:
    return run(kind, outcome.seed, plan=plan, control=outcome.control, timeline=timeline)


def _failure(outcome: Outcome) -> str:
    if outcome.violation is not None:
        return outcome.violation.invariant
    return "vacuous" if outcome.missing else ""

"""Worlds run by their seeds: the first ones, those that were kept, and those with a mistake."""

from functools import partial
from pathlib import Path

import pytest

from odradek.sim import report
from odradek.sim.batch import run_all
from odradek.sim.simulation import Outcome, run, too_little
from odradek.sim.worlds import NAMES
from odradek.sim.worlds import kind as kind_named

SEEDS = {"zookeeper": 30, "log": 30, "broker": 30, "access": 5, "transactions": 5, "cluster": 20}
CONTROL_SEEDS = 60  # within so many each mistake must be found
KEPT = Path(__file__).with_name("kept_seeds.txt")


def judge(outcomes: list[Outcome]) -> None:
    """All must have passed; the report of each that did not is the test's message."""
    failed = [report.failure(outcome) for outcome in outcomes if not outcome.passed]
    assert not failed, "\n\n".join(failed)


def kept_seeds() -> list[tuple[str, int]]:
    """Kind and seed of each line, but of those that are among the first ones."""
    lines = (line.split() for line in KEPT.read_text().splitlines())
    kept = ((words[0], int(words[1])) for words in lines if words and words[0] != "#")
    return [(kind, seed) for kind, seed in kept if seed > SEEDS[kind]]


@pytest.mark.timeout(1_800)
def test_the_first_seeds_keep_every_promise() -> None:
    """The same ones on each day; others are tried by `./dev sim --fresh`."""
    failed, missing = [], {}
    for name, count in SEEDS.items():
        outcomes = list(run_all([partial(run, kind_named(name))], range(1, 1 + count)))
        failed += [outcome for outcome in outcomes if not outcome.passed]
        missing[name] = too_little(outcomes, kind_named(name).floors_of_many)
    judge(failed)
    assert not any(missing.values()), missing


@pytest.mark.parametrize(("kind", "seed"), kept_seeds())
def test_kept_seeds_keep_every_promise(kind: str, seed: int) -> None:
    """What went wrong once is tried for ever."""
    judge([run(kind_named(kind), seed)])


@pytest.mark.parametrize(
    ("kind", "control"),
    [(name, control) for name in NAMES for control in kind_named(name).controls],
)
def test_known_mistakes_are_found(kind: str, control: str) -> None:
    """A simulator that finds nothing wrong proves nothing: each mistake breaks a promise soon."""
    found = (
        outcome.violation is not None
        for outcome in (
            run(kind_named(kind), seed, control=control) for seed in range(CONTROL_SEEDS)
        )
    )
    assert any(found), f"{control} was not found in {CONTROL_SEEDS} seeds"

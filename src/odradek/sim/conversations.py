"""Conversations by their names: the tests of `tests/scenarios`, run by one seed or by many.

They are the repository's, not the package's: elsewhere there are none.
"""

import traceback
from collections.abc import Callable
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Final

from odradek.sim.invariants import Violation
from odradek.sim.scenario import Scenario
from odradek.sim.simulation import Outcome

FOLDER: Final = Path("tests") / "scenarios"
PREFIX: Final = "test_"

Conversation = Callable[[Scenario], None]


@cache
def conversations(folder: Path = FOLDER) -> dict[str, Conversation]:
    """All of them, each under its name without `test_`, with dashes."""
    found: dict[str, Conversation] = {}
    for path in sorted(folder.glob(f"{PREFIX}*.py")):
        spec = spec_from_file_location(f"scenarios.{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        for name, value in vars(module).items():
            if name.startswith(PREFIX) and callable(value):
                found[name.removeprefix(PREFIX).replace("_", "-")] = value
    return found


def converse(name: str, seed: int, *, timeline: bool = False) -> Outcome:
    """One conversation, and what came of it."""
    conversation = conversations()[name]
    outcome = Outcome(name, seed, ())
    with Scenario(seed) as scenario:
        history = scenario.world.history
        if timeline:
            outcome.timeline = history.timeline = []
        try:
            conversation(scenario)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not what was told
            outcome.violation = _lesson(conversation, error)
        outcome.digest, outcome.work = history.digest(), history.counts
        outcome.events = scenario.world.loop.events
        outcome.last = {who: list(map(str, last)) for who, last in history.last.items()}
    return outcome


def _lesson(conversation: Conversation, error: Exception) -> Violation:
    """What was told, and at which of its lines it went otherwise."""
    told = conversation.__code__.co_filename
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == told]
    line = f"{told}:{lines[-1].lineno}: {lines[-1].line}" if lines else told
    promise = (conversation.__doc__ or conversation.__name__).strip().splitlines()[0]
    return Violation("Lesson", promise, f"{line}\n  {type(error).__name__}: {error}".rstrip(": "))

"""Conversations by their names: the tests of `tests/scenarios`, run by one seed or by many.

They are the repository's, not the package's: elsewhere there are none. With a known mistake of the
world `cluster` a conversation must fail whose lesson the mistake breaks.
"""

import inspect
import re
import traceback
from asyncio import CancelledError
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from odradek.sim.invariants import Violation
from odradek.sim.scenarios.cluster import STAGED, ClusterScenario
from odradek.sim.scenarios.scenario import Scenario
from odradek.sim.simulation import Outcome, turning
from odradek.sim.worlds.cluster.mistakes.known import KNOWN, knobs_of

__all__ = ["KNOWN", "conversations", "converse"]

FOLDER: Final = Path("tests") / "scenarios"
PREFIX: Final = "test_"
STAGES: Final = {FOLDER: Scenario, FOLDER / "cluster": ClusterScenario}
STAGE: Final = "t"
"""What a conversation calls its stage; those that ask pytest for more are told by tests alone."""
WAYS: Final = "parametrize"
"""The one mark that a conversation may have."""

Conversation = partial[None]
"""A test, with all that it is told with but its stage."""
Stage = type[Scenario] | type[ClusterScenario]


@cache
def conversations() -> dict[str, tuple[Conversation, Stage]]:
    """All of them, each under its name without `test_`, with dashes."""
    found: dict[str, tuple[Conversation, Stage]] = {}
    for folder, stage in STAGES.items():
        for path in sorted(folder.glob(f"{PREFIX}*.py")):
            for name, conversation in _told_in(path):
                found[name.removeprefix(PREFIX).replace("_", "-")] = conversation, stage
    return found


def _told_in(path: Path) -> Iterator[tuple[str, Conversation]]:
    """Each once for all that it is told with, which its name says."""
    for name, value in vars(_module(path)).items():
        if not name.startswith(PREFIX):
            continue
        marks = getattr(value, "pytestmark", ())
        if any(mark.name != WAYS for mark in marks):
            continue
        for ways in product(*(_ways(*mark.args) for mark in marks)):
            how = {key: it for way in ways for key, it in way.items()}
            if {*inspect.signature(value).parameters} == {STAGE, *how}:
                said = "".join(f"_{_said(key, it)}" for key, it in how.items())
                yield name + said, partial(value, **how)


def _ways(names: str | Sequence[str], values: Iterable[Any]) -> list[dict[str, Any]]:
    keys = names.split(",") if isinstance(names, str) else names
    return [dict(zip(keys, it if len(keys) > 1 else (it,), strict=True)) for it in values]


def _said(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key if value else f"not_{key}"
    return re.sub("[^a-z0-9]+", "_", f"{key}_{value}".lower())


def _module(path: Path) -> ModuleType:
    spec = spec_from_file_location(".".join(path.with_suffix("").parts[1:]), path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def converse(name: str, seed: int, *, control: str = "", timeline: bool = False) -> Outcome:
    """One conversation, and what came of it; with a known mistake if there is a control."""
    conversation, stage = conversations()[name]
    how = vars(conversation.func).get(STAGED, {})
    outcome = Outcome(name, seed, (), control)
    try:
        with turning(knobs_of(control)), stage(seed, **how) as scenario:
            history = scenario.world.history
            if timeline:
                outcome.timeline = history.timeline = []
            try:
                conversation(scenario)
            except (Exception, CancelledError) as error:  # noqa: BLE001 - it is not what was told
                outcome.violation = _lesson(conversation, error)
            outcome.digest, outcome.work = history.digest(), history.counts
            outcome.events = scenario.world.loop.events
            outcome.last = {who: list(map(str, last)) for who, last in history.last.items()}
    except Exception as error:
        if not control:
            raise
        outcome.violation = outcome.violation or _lesson(conversation, error)  # no stage, or no end
    return outcome


def _lesson(conversation: Conversation, error: BaseException) -> Violation:
    """What was told, and at which of its lines it went otherwise."""
    test = inspect.unwrap(conversation.func)
    told = inspect.getfile(test)
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == told]
    line = f"{told}:{lines[-1].lineno}: {lines[-1].line}" if lines else told
    promise = (test.__doc__ or test.__name__).strip().splitlines()[0]
    return Violation("Lesson", promise, f"{line}\n  {type(error).__name__}: {error}".rstrip(": "))

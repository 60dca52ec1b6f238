"""No verb destroys anything unasked: without a terminal it says what it would do, and ends."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import pytest

from odradek.cli.grammar import DestroyingVerb
from odradek.cli.nouns import NOUNS
from odradek.cli.root import command
from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell, group_that_read

Call = Callable[[str, str, OdradekBroker], list[str]]
CALLS: Final[dict[str, Call]] = {
    "topic delete": lambda topic, _, __: [topic],
    "topic trim": lambda topic, _, __: [topic, "--all"],
    "group delete": lambda _, group, __: [group],
    "group delete-offsets": lambda topic, group, __: [group, topic],
    "logdirs offline": lambda _, __, broker: [str(broker.directory / "disk-a")],
}
"""By verb, its arguments for a topic and a group that has read it."""
ELSEWHERE: Final = {
    "partition elect": "tests/live/test_operator_truth.py",  # asks where a leader is missing
    "controller unprefer": "tests/live/test_operator_truth.py",  # asks about the last one
    "up": "tests/unit/cli/test_up.py",
    "pipeline reset": "tests/pipelines",
}
"""Verbs that ask in a state of their own, and where that is tested."""


def verbs_with_yes() -> set[str]:
    """All that take `--yes`."""
    context, found = click.Context(command), set()
    for noun in NOUNS:
        called = command.get_command(context, noun)
        below = called.commands if isinstance(called, click.Group) else {"": called}
        for name, verb in below.items():
            assert verb is not None
            asks = any("--yes" in it.opts for it in verb.params)
            calls = "confirm(" in inspect.getsource(verb.callback or verbs_with_yes)
            assert asks or not (calls or isinstance(verb, DestroyingVerb)), name
            if asks:
                found.add(f"{noun} {name}".strip())
    return found


def test_every_verb_that_asks_is_tried() -> None:
    """A new one has a row here."""
    assert verbs_with_yes() == CALLS.keys() | ELSEWHERE.keys()
    assert all(Path(__file__).parents[2].joinpath(it).exists() for it in ELSEWHERE.values())


@pytest.mark.parametrize("verb", CALLS)
def test_nothing_is_done_without_a_yes(
    odradek: Shell, letters: str, broker: OdradekBroker, verb: str
) -> None:
    """All records, offsets and dirs are there afterwards; `--timeout` and the like are no yes."""
    group = group_that_read(odradek, letters)
    call = [*verb.split(), *CALLS[verb](letters, group, broker)]
    said = odradek.fails(*call, code=2)
    assert said.endswith(": not done without --yes\n"), said
    assert odradek("offsets", "list", letters).rows[0] == [letters, "0", "0", "8", "8"]
    assert group in odradek("group", "list").out
    assert {row[-1] for row in odradek("logdirs", "list").rows} == {"online"}

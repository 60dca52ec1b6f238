"""No verb destroys anything unasked: without a terminal it says what it would do, and ends."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

import click
import pytest

from odradek.cli.nouns import NOUNS
from odradek.cli.root import command
from odradek.cli.words.grammar import DestroyingVerb
from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell, group_that_read

Call = Callable[[str, str, OdradekBroker], list[str]]
CALLS: Final[dict[str, Call]] = {
    "topic delete": lambda topic, _, __: [topic],
    "topic trim": lambda topic, _, __: [topic, "--all"],
    "group delete": lambda _, group, __: [group],
    "group delete-offsets": lambda topic, group, __: [group, topic],
    "user remove": lambda _, __, ___: ["alice"],
    "quota remove": lambda _, __, ___: ["--user", "alice"],
    "logdirs offline": lambda _, __, broker: [str(broker.directory / "disk-a")],
}
"""By verb, its arguments for a topic and a group that has read it."""
ELSEWHERE: Final = {
    "partition elect": "tests/live/test_operator_truth.py",  # asks where a leader is missing
    "controller unprefer": "tests/live/test_operator_truth.py",  # asks about the last one
    "acl remove": "tests/live/test_access_rules.py",  # asks where there are rules
    "transaction abort": "tests/live/test_transactions_cli.py",  # asks where one is open
    "group remove-member": "tests/compat/test_cli_groups.py",  # asks where there is one
    "up": "tests/unit/cli/test_up.py",
    "zookeeper restore-state": "tests/live/test_rare_faults.py",  # asks where a state is missing
    "pipeline reset": "tests/pipelines",
}
"""Verbs that ask in a state of their own, and where that is tested."""
HARMLESS: Final = {
    "only looks": """
        acl list; audit; broker apis; broker clients; broker describe; broker list; check
        cluster describe; cluster health; cluster restart-order; completion
        config describe; consume; context list; controller describe; controller history; doctor
        dump-log
        group describe; group list; group members; logdirs describe; logdirs list
        logdirs partitions; offsets list; partition reassignments; pipeline check
        pipeline preview; pipeline status; producer-id list; quota list; security check; telemetry
        transaction describe; transaction hanging; transaction list; transaction producers
        topic describe; topic list; user list; verify
    """,
    "has a cluster of its own": "demo",
    "adds": """
        acl add; archive; debug bundle; pipeline draft; pipeline init; pipeline redrive
        pipeline run; produce; replay; topic create
    """,
    "moves or restarts, and no record is lost by it": """
        broker demote; broker drain; broker undrain; cluster roll; controller move
        controller prefer; logdirs cordon; logdirs move; logdirs uncordon; partition reassign
        partition throttle; serve; zookeeper serve
    """,
    "shows a plan unless it is told to --execute": "group reset-offsets; logdirs balance",
    "sets what its arguments say, of which the former value can be set again": """
        cluster features; config alter; context delete; context set; context use; quota set
        topic alter; user add; zookeeper open; zookeeper secure
    """,
    "refuses what is not empty, or not its own": "logdirs replace; zookeeper raise-epochs",
    "keeps the rows that are there, or makes them again from the log": """
        compact; pipeline backfill; pipeline follow
    """,
}
"""Every verb that does not ask, by the reason."""


def all_verbs() -> dict[str, click.Command]:
    """By noun and verb."""
    context = click.Context(command)
    found: dict[str, click.Command] = {}
    for noun in NOUNS:
        called = command.get_command(context, noun)
        assert called is not None
        below = called.commands if isinstance(called, click.Group) else {"": called}
        found |= {f"{noun} {name}".strip(): verb for name, verb in below.items()}
    return found


def verbs_with_yes() -> set[str]:
    """All that take `--yes`."""
    found = set()
    for name, verb in all_verbs().items():
        asks = any("--yes" in it.opts for it in verb.params)
        calls = "confirm(" in inspect.getsource(verb.callback or verbs_with_yes)
        assert asks or not (calls or isinstance(verb, DestroyingVerb)), name
        if asks:
            found.add(name)
    return found


def test_every_verb_asks_or_is_known_to_be_harmless() -> None:
    """A new one is in one list or in the other."""
    harmless = [name for names in HARMLESS.values() for name in re.split(r"\s*[;\n]\s*", names)]
    known = {name for name in harmless if name}
    assert not known & verbs_with_yes()
    assert known | verbs_with_yes() == all_verbs().keys()


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

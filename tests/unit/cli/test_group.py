"""Groups and transactions by their states: one that there is not is refused, none is left out."""

import sys

import click
import pytest
from click.testing import CliRunner

from odradek.cli.records import group, transaction
from odradek.cli.root import command
from odradek.cli.words.options import META, Options
from odradek.coordinator.groups.states import PREDECESSORS
from odradek.coordinator.transactions.states import State


@pytest.mark.parametrize(
    ("noun", "known"), [("group", group.STATES), ("transaction", transaction.STATES)]
)
def test_a_state_that_there_is_not_is_refused(noun: str, known: tuple[str, ...]) -> None:
    """With those that there are: a list without a row would say that nothing is in it."""
    refused = CliRunner().invoke(command, [noun, "list", "--state", "Nope"])
    assert refused.exit_code == 2
    assert all(state in refused.output for state in known), refused.output


def test_every_state_can_be_asked_for() -> None:
    """What a coordinator may say of a group, or of a transactional id."""
    assert {state.title for state in State} == {*transaction.STATES}
    assert {state.name for state in PREDECESSORS} <= {*group.STATES}


@pytest.mark.parametrize(
    ("is_terminal", "shown"), [(True, "orders: 0-2 5, paid: 7"), (False, "orders-0 orders-1")]
)
def test_people_read_runs_of_partitions_and_scripts_each(
    monkeypatch: pytest.MonkeyPatch, *, is_terminal: bool, shown: str
) -> None:
    """A transaction may have hundreds of partitions, which filled the screen."""
    monkeypatch.setattr(sys.stdout, "isatty", lambda: is_terminal, raising=False)
    context = click.Context(command)
    context.meta[META] = Options()
    with context:
        said = transaction.where({"orders": [0, 1, 2, 5], "paid": [7]})
    assert said.startswith(shown)

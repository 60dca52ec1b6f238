"""docs/cli.md shows every verb; tests/compat/test_cli_page.py runs its lines."""

import re

import click

from odradek.cli.nouns import NOUNS
from odradek.cli.root import command
from tests.house import tree


def test_every_verb_stands_on_the_page() -> None:
    """Whoever adds a verb shows how it is called."""
    text = tree.text(tree.ROOT / "docs" / "cli.md")
    context = click.Context(command)
    for noun in NOUNS:
        found = command.get_command(context, noun)
        verbs = found.list_commands(context) if isinstance(found, click.Group) else [""]
        for verb in verbs:
            called = f"{noun} {verb}".strip()
            assert re.search(rf"odradek {called}\b", text), f"{called} is not in docs/cli.md"

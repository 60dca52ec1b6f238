"""docs/cli.md shows every verb and exit code; tests/compat/test_cli_page.py runs its lines."""

import re

import click

from odradek.cli.nouns import NOUNS
from odradek.cli.root import command
from odradek.cli.words import failing
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


CODE = re.compile(r"^\| (\d+) \| (.+) \|$", re.MULTILINE)


def test_the_exit_codes_of_the_page_are_those_of_the_command() -> None:
    """Scripts branch on them: each that the command has, with the same words in both places."""
    page = tree.text(tree.ROOT / "docs" / "cli.md").partition("| exit code |")[2]
    told = CODE.findall(page.partition("\n\n")[0])
    assert told == CODE.findall(failing.__doc__ or "")
    codes = {it for name, it in vars(failing).items() if name.isupper() and isinstance(it, int)}
    assert {int(code) for code, _ in told} == {0, *codes}

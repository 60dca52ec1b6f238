"""Asking before something is lost: on a terminal a question, elsewhere `--yes` or a refusal."""

import sys

import click

from odradek.cli.words.failing import INTERRUPTED, MISUSED, Failed
from odradek.cli.words.options import options


def confirm(what: str) -> None:
    """Returns if `what` may be done; `what` names all that will be gone."""
    if options().yes:
        return
    if not can_ask():
        raise Failed(f"{what}: not done without --yes", code=MISUSED)
    try:
        is_wanted = click.confirm(f"{what}. Go on?", err=True)
    except click.Abort:
        click.echo(err=True)
        raise Failed("nothing was done", code=INTERRUPTED) from None
    if not is_wanted:
        raise Failed("nothing was done")


def ask_password(what: str) -> str:
    """Twice, and not shown."""
    if not can_ask():
        raise Failed(f"{what} is not given", "--password TEXT", MISUSED)
    try:
        return str(click.prompt(what, hide_input=True, confirmation_prompt=True, err=True))
    except click.Abort:
        click.echo(err=True)
        raise Failed("nothing was done", code=INTERRUPTED) from None


def can_ask() -> bool:
    """Whether a person is there."""
    return bool(sys.stdin and sys.stdin.isatty())

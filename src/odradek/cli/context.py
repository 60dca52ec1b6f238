"""`odradek context`: named clusters, so that `--bootstrap` can be left out."""

from typing import Final

import click

from odradek.cli.reaching.client_settings import BOOTSTRAP, of_file
from odradek.cli.reaching.context_file import ContextFile
from odradek.cli.showing.printing import show_outcomes, show_table
from odradek.cli.words.grammar import LocalVerb, Noun, Verb
from odradek.cli.words.options import options
from odradek.config.not_here import is_secret

HIDDEN: Final = "[hidden]"


class Contexts(Noun):
    """None of the verbs talks to a cluster."""

    command_class: type[click.Command] | None = LocalVerb


@click.group(cls=Contexts)
def command() -> None:
    """Contexts: named clusters, so that --bootstrap can be left out."""


@command.command(name="list")
def list_contexts() -> None:
    """List the contexts; the current one is used where no other is named."""
    file = ContextFile()
    rows = [(name, name == file.current, file.settings(name).get(BOOTSTRAP)) for name in file.names]
    show_table(
        ("context", "current", "bootstrap"),
        rows,
        "no context: odradek context set NAME -b HOST:PORT",
    )


@command.command(name="set", cls=Verb)
@click.argument("name")
def set_context(*, name: str) -> None:
    """Create or replace a context from --bootstrap, -X and --command-config.

    The first context becomes the current one.
    """
    said = options()
    settings = {} if said.command_config is None else of_file(said.command_config)
    settings |= said.settings
    if said.bootstrap is not None:
        settings[BOOTSTRAP] = said.bootstrap
    if not settings:
        raise click.UsageError("say what it holds, such as --bootstrap b1:9092")
    file = ContextFile()
    file.put(name, settings)
    if file.current is None:
        file.current = name
    file.save()
    fields = {"context": name, "current": file.current == name, "settings": _shown(settings)}
    show_outcomes([(f"context {name} saved in {file.path}", fields)])


def _shown(settings: dict[str, str]) -> dict[str, str]:
    """Without what is secret."""
    return {name: HIDDEN if is_secret(name) else value for name, value in settings.items()}


@command.command()
@click.argument("name")
def use(*, name: str) -> None:
    """Make a context the current one."""
    file = ContextFile()
    file.current = name
    file.save()
    show_outcomes([(f"context {name} is the current one", {"context": name, "current": True})])


@command.command()
@click.argument("name")
def delete(*, name: str) -> None:
    """Delete a context from the file; the cluster is not touched."""
    file = ContextFile()
    file.remove(name)
    file.save()
    show_outcomes([(f"context {name} deleted", {"context": name, "deleted": True})])

"""Where the command begins: finding the noun that was called, and printing what went wrong.

Help is made from the table of nouns alone, so that neither it nor `--version` imports any of them.

What went wrong for a person (a wrong setting, a file that is not there, a broker that refuses) is
a sentence on stderr, sometimes with a second line that says what to do, and an exit code that is
listed in `failing`. What went wrong with us keeps its traceback.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from textwrap import wrap
from typing import Any

import click

from odradek import __version__
from odradek.cli.nouns import ALIASES, ELSEWHERE, MODULES, NOUNS, SCRIPTS, SECTIONS, module_of
from odradek.cli.words import failing, grammar
from odradek.cli.words.options import pasted
from odradek.model.errors import BrokerError


class ReaderGone(Exception):
    """Standard output is not read any more. click would make a plain failure of it."""


@contextmanager
def _noticing_that_the_reader_is_gone() -> Iterator[None]:
    try:
        yield
    except BrokenPipeError:
        raise ReaderGone from None


class Nouns(grammar.Noun):
    """The group of all nouns, each imported when it is called."""

    metavar_of_verbs = "NOUN VERB [ARGUMENTS]..."

    def make_context(self, *args: Any, **attributes: Any) -> click.Context:
        """Parses the call, and prints help where that was asked for."""
        with _noticing_that_the_reader_is_gone():
            return super().make_context(*args, **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        """Carries it out. What to do next names its cluster: later no option is known any more."""
        try:
            with _noticing_that_the_reader_is_gone():
                return super().invoke(ctx)
        except (failing.Failed, BrokerError) as error:
            found = failing.failed_by(error) if isinstance(error, BrokerError) else error
            found.next_step = pasted(found.next_step)
            raise found from error.__cause__

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """In the order of the table."""
        return list(NOUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The noun's own command."""
        name = ALIASES.get(cmd_name, cmd_name)
        if name == "health":
            cluster = self.get_command(ctx, "cluster")
            assert isinstance(cluster, click.Group)
            return cluster.get_command(ctx, "health")
        if (script := name.removesuffix(".sh")) in SCRIPTS:
            module = import_module(f"odradek.cli.kafka.{module_of(script)}")
        elif name in MODULES:
            module = import_module(MODULES[name])
        else:
            return super().get_command(ctx, name)
        command: click.Command = module.command
        return command

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """From the table: click would import every noun to ask for its help."""
        for title, nouns in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(nouns.items()), col_max=14)
        records = [it.get_help_record(ctx) for it in self.get_params(ctx)]
        with formatter.section("Options, also after the noun or the verb"):
            formatter.write_dl([record for record in records if record is not None])
        formatter.write_paragraph()
        formatter.write_text("`odradek NOUN --help` lists the verbs of a noun.")
        formatter.write_paragraph()
        text = f"Kafka's scripts by their names and options: {', '.join(SCRIPTS)}."
        for line in wrap(text, formatter.width, break_on_hyphens=False):
            formatter.write(f"{line}\n")

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds the noun, or the one that was meant."""
        name = args[0]
        if (instead := ELSEWHERE.get(name.removesuffix(".sh"))) is not None:
            raise click.UsageError(f"{name} is not here: {instead}", ctx)
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = [*NOUNS, *ALIASES, *SCRIPTS, "health", "help", "version"]
            near = failing.nearest(name.removesuffix(".sh"), known)
            raise click.UsageError(f"{name!r} is neither a noun nor a script{near}", ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Nouns, context_settings=grammar.SETTINGS)
@click.version_option(__version__, prog_name="odradek", message="%(prog)s %(version)s")
def command() -> None:
    """Odradek, a replicated log broker that speaks Kafka's wire protocol."""


@command.command(name="version", cls=click.Command)
def print_version() -> None:
    """Print the version of this command."""
    click.echo(f"odradek {__version__}")


@command.command(name="help", cls=click.Command)
@click.argument("names", nargs=-1)
def print_help(names: tuple[str, ...]) -> None:
    """Print the help of a noun or a verb."""
    called: click.Command = command
    context = click.Context(called, info_name="odradek")
    for name in names:
        if not isinstance(called, click.Group):
            break
        _, found, _ = called.resolve_command(context, [name])
        assert found is not None
        called = found
        context = click.Context(called, info_name=name, parent=context)
    click.echo(called.get_help(context))


def main() -> None:
    """Where the installed command begins, and where it ends."""
    if not __debug__:
        text = "refuses to run under python -O, which removes the checks that guard your records"
        _end(failing.Failed(text, code=failing.MISUSED))
    try:
        code = command.main(prog_name="odradek", standalone_mode=False)
        _flush()
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(failing.INTERRUPTED)
    except failing.Failed as error:
        _end(error)
    except (ReaderGone, BrokenPipeError):
        _end_without_a_reader()
    except BrokerError as error:
        _end(failing.failed_by(error))
    except OSError as error:
        _end(_not_printed() or failing.failed_by(error))
    sys.exit(code if isinstance(code, int) else 0)


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _not_printed() -> failing.Failed | None:
    """Why standard output, a full disk for instance, does not take what was printed."""
    try:
        _flush()
    except OSError as error:
        _drop_output()
        return failing.Failed(f"standard output: {error.strerror}")
    return None


def _end(error: failing.Failed) -> None:
    lines = [f"odradek: {line}" for line in str(error).splitlines()]
    if error.next_step:
        lines.append(f"  next: {error.next_step}")
    for line in lines:
        click.echo(line, err=True)
    sys.exit(error.code)


def _end_without_a_reader() -> None:
    _drop_output()
    sys.exit(failing.PIPE_CLOSED)


def _drop_output() -> None:
    """What Python would still write at its end is not read either."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())

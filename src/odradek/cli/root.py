"""Where the command begins: finding the noun that was called, and printing what went wrong.

Help is made from the table of nouns alone, so that neither it nor `--version` imports any of them.
A noun's module, `cli/<noun>.py`, holds its click command under the name `command`.

What went wrong for a person (a wrong setting, a file that is not there, a broker that refuses) is
one sentence on stderr and exit code 1; a command that was called wrongly has exit code 2, as
everywhere. What went wrong with us keeps its traceback.
"""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Final

import click

from odradek import __version__
from odradek.model.errors import BrokerError

INTERRUPTED: Final = 130  # what shells call the end by Ctrl-C

NOUNS: Final[Mapping[str, str]] = {
    "check": "Say what is wrong with a properties file.",
    "config": "Settings: show and change those of topics and brokers.",
    "consume": "Print the records of a topic, one a line, until it is interrupted.",
    "dump-log": "Show what lies in the files of a log, and where they are corrupt.",
    "group": "Consumer groups: show, move, forget.",
    "logdirs": "Show the log dirs: what lies in them, what room is left, which have failed.",
    "produce": "Produce each line of FILE, or of standard input, as a record.",
    "serve": "Serve with the settings of FILE until the process is asked to end.",
    "topic": "Topics: make, show, enlarge, trim, take away.",
    "zookeeper": "The ZooKeeper server that comes with Odradek.",
}
"""Every noun with its line of help; `-` in a noun is `_` in the name of its module."""


class Nouns(click.Group):
    """The group of all nouns, each imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """In the order of the table."""
        return list(NOUNS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The noun's own command."""
        if cmd_name not in NOUNS:
            return None
        module = import_module(f"odradek.cli.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """From the table: click would import every noun to ask for its help."""
        with formatter.section("Commands"):
            formatter.write_dl(list(NOUNS.items()))


@click.group(cls=Nouns, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="odradek", message="%(prog)s %(version)s")
def command() -> None:
    """Odradek, a replicated log broker that speaks Kafka's wire protocol."""


def main() -> None:
    """Where the installed command begins, and where it ends."""
    if not __debug__:
        _end("refuses to run under python -O, which removes the checks that guard your records", 2)
    try:
        code = command.main(prog_name="odradek", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(INTERRUPTED)
    except (BrokerError, OSError) as error:
        _end(sentence(error), 1)
    sys.exit(code if isinstance(code, int) else 0)


def sentence(error: BrokerError | OSError) -> str:
    """What went wrong, for a person."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


def _end(text: str, code: int) -> None:
    for line in text.splitlines():
        click.echo(f"odradek: {line}", err=True)
    sys.exit(code)

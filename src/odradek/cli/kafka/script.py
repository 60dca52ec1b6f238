"""What all of Kafka's scripts have in common: how they are called, and how they fail.

An option may be shortened as long as it is clear which one is meant, values may follow a `=`, and
whatever goes wrong ends with exit code 1. `docs/kafka-scripts.md` lists what differs from Kafka's.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from odradek.cli.reaching.talking import talk
from odradek.cli.words import options
from odradek.cli.words.failing import FAILED, Failed
from odradek.cli.words.grammar import SETTINGS
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.model.errors import BrokerError

T = TypeVar("T")


class Misused(click.UsageError):
    """Kafka's scripts end with 1, whatever was wrong."""

    exit_code = 1


class Script(click.Command):
    """One script, or one command of a script that has several."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes.setdefault("context_settings", SETTINGS)
        super().__init__(*args, **attributes)
        self.params += _of_every_script()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Options as joptsimple takes them."""
        known = [name for it in self.params for name in it.opts if name.startswith("--")]
        try:
            return super().parse_args(ctx, [_in_full(word, known) for word in args])
        except click.UsageError as error:
            raise Misused(error.format_message(), error.ctx) from None

    def invoke(self, ctx: click.Context) -> Any:
        """What was wrong about the call is found here, too."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            raise Misused(error.format_message(), ctx) from None
        except Failed as error:
            error.code = FAILED
            raise


class Commands(Script, click.Group):
    """A script with commands: the options of every script stand before the command, or behind."""

    command_class = Script

    def __init__(self, *args: Any, **attributes: Any) -> None:
        attributes.setdefault("no_args_is_help", False)
        super().__init__(*args, **attributes)


def show(names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table as Kafka's newer scripts print them."""
    lines = [[*names], *([str(it) for it in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        *head, last = zip(line, widths, strict=True)
        click.echo("".join(f"{it.ljust(width)}\t" for it, width in head) + last[0])


def _of_every_script() -> list[click.Parameter]:
    return [
        options.CommonOption(
            "bootstrap",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="Brokers to connect to first.",
        ),
        options.CommonOption(
            "command_config",
            "--command-config",
            "--producer.config",
            "--consumer.config",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            help="A properties file with settings of the client.",
        ),
    ]


def _in_full(word: str, known: Iterable[str]) -> str:
    """The one option that begins so."""
    name, equals, value = word.partition("=")
    if not name.startswith("--") or name in known:
        return word
    meant = [it for it in known if it.startswith(name)]
    return meant[0] + equals + value if len(meant) == 1 else word


def the_one(said: Mapping[str, object]) -> str:
    """The action: exactly one of these options must be given."""
    given = [name for name, value in said.items() if value]
    if len(given) != 1:
        names = ", ".join(f"--{name}" for name in said)
        raise Misused(f"Command must include exactly one action: {names}")
    return given[0]


def ask(conversation: Callable[[Cluster], Awaitable[T]]) -> T:
    """Talks to the cluster."""

    async def run(cluster: Cluster) -> T:
        return await conversation(cluster)

    return talk(run)


def told(error: BrokerError | Failed) -> str:
    """What the broker said: scripts look for Kafka's sentence, without the name of its code."""
    return error.told if isinstance(error, Refused) else str(error)


def needed(value: T | None, option: str) -> T:
    """An option that this action cannot do without."""
    if not value:
        raise Misused(f'Missing required argument "[{option}]"')
    return value


def pairs_of(text: str) -> dict[str, str]:
    """`name=value,name=[a,b]`: brackets hold values with commas."""
    found: dict[str, str] = {}
    rest = text
    while rest:
        name, equals, rest = rest.partition("=")
        if not equals:
            raise Failed(f"Invalid entity config: {name!r} is not name=value")
        if rest.startswith("["):
            value, _, rest = rest[1:].partition("]")
            rest = rest.removeprefix(",")
        else:
            value, _, rest = rest.partition(",")
        found[name.strip()] = value.strip()
    return found

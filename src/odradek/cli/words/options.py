"""The options that every verb takes, at any place of a call: `odradek -b b1:9092 topic list`.

They are no parameters of the verbs: `talk` and the printing functions read them from here. Where
an option is given twice, the later one counts. What decides about a setting of the client, the
first that names it: the command line, the environment, `--command-config`, the context.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click

from odradek.cli.words.numbers import Number

META: Final = "odradek.options"
TIMEOUT_SECONDS: Final = 30.0


@dataclass(slots=True)
class Options:
    """What was said on the command line; None or empty where nothing was."""

    bootstrap: str | None = None
    as_json: bool = False
    yes: bool = False
    timeout: float | None = None
    context: str | None = None
    command_config: Path | None = None
    settings: dict[str, str] = field(default_factory=dict)  # those of -X

    @property
    def seconds(self) -> float:
        """How long a cluster is waited for."""
        return TIMEOUT_SECONDS if self.timeout is None else self.timeout


def options() -> Options:
    """Those of the call that is being carried out."""
    context = click.get_current_context(silent=True)
    if context is None:
        return Options()
    found: Options = context.meta.setdefault(META, Options())
    return found


class CommonOption(click.Option):
    """An option that is written down in `Options` instead of being handed to the verb."""

    def __init__(self, attribute: str, *names: str, **attributes: Any) -> None:
        self.attribute = attribute
        own = [*names, f"common_{attribute}"]  # a verb may have a parameter of the same name
        super().__init__(own, expose_value=False, callback=self.note, **attributes)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Without the name that Kafka's scripts have for the same."""
        record = super().get_help_record(ctx)
        return record and (record[0].replace(", --bootstrap-server", ""), record[1])

    def note(self, context: click.Context, _: click.Parameter, value: Any) -> None:
        """Nothing that was not given overwrites what was."""
        if value is None or value is False or value == ():
            return
        found: Options = context.meta.setdefault(META, Options())
        if self.attribute == "settings":
            found.settings |= pairs(value)
        else:
            setattr(found, self.attribute, value)


def pairs(given: tuple[str, ...]) -> Mapping[str, str]:
    """`name=value`, several times."""
    found = {}
    for item in given:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise click.BadParameter(f"{item[:80]!r} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


OTHERS_CLUSTER: Final = re.compile(
    r"\bodradek (?!(?:up|demo|serve|check|context|completion|zookeeper)\b)(?=[a-z-]+(?: |$|`))"
)
"""A printed call of a verb that talks to the cluster."""


def pasted(text: str) -> str:
    """A text with calls that talk to the same cluster as this one, when they are pasted."""
    found = options()
    given = (
        ("-b", found.bootstrap),
        ("--context", found.context),
        ("--command-config", found.command_config),
    )
    same = "".join(f"{name} {shlex.quote(str(it))} " for name, it in given if it is not None)
    return OTHERS_CLUSTER.sub(f"odradek {same}".replace("\\", r"\\"), text) if same else text


def of_the_cluster() -> list[click.Parameter]:
    """For verbs that talk to a cluster."""
    return [
        CommonOption(
            "bootstrap",
            "-b",
            "--bootstrap",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="Brokers to connect to first.  [default: $ODRADEK_BOOTSTRAP, the context, "
            "127.0.0.1:9092]",
        ),
        how_long(),
        CommonOption(
            "settings",
            "-X",
            multiple=True,
            metavar="NAME=VALUE",
            help="A setting of Kafka's clients, such as client.id=me. Can be repeated.",
        ),
        CommonOption(
            "command_config",
            "--command-config",
            type=click.Path(path_type=Path, dir_okay=False, exists=True),
            help="A properties file with such settings.",
        ),
        CommonOption(
            "context", "--context", metavar="NAME", help="Use this context (odradek context list)."
        ),
    ]


def how_long() -> click.Parameter:
    """For verbs that wait for servers."""
    return CommonOption(
        "timeout",
        "--timeout",
        type=Number(min=0.1),
        metavar="SECONDS",
        help=f"How long to wait for the cluster.  [default: {TIMEOUT_SECONDS:.0f}]",
    )


def for_programs() -> click.Parameter:
    """For verbs that print."""
    return CommonOption("as_json", "--json", is_flag=True, help="Print JSON.")


def without_asking() -> click.Parameter:
    """For verbs that destroy."""
    return CommonOption(
        "yes", "-y", "--yes", is_flag=True, help="Do not ask before records are lost."
    )

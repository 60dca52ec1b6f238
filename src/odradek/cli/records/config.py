"""`odradek config`: settings of topics and brokers."""

import click

from odradek.cli.reaching.naming import brokers_named, topics_named
from odradek.cli.reaching.talking import settings_of, talk
from odradek.cli.records.topic import refuse_unknown_settings
from odradek.cli.showing.printing import show_outcomes, show_table
from odradek.cli.words.grammar import Noun
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.config.describe import Source

KINDS = {"topic": admin.TOPIC, "broker": admin.BROKER}
_kind = click.argument("kind", type=click.Choice(list(KINDS)))


@click.group(cls=Noun)
def command() -> None:
    """Settings of topics and brokers: describe, alter."""


@command.command()
@_kind
@click.argument("name", default="")
@click.option("--all", "everything", is_flag=True, help="Include those that have their default.")
def describe(*, kind: str, name: str, everything: bool) -> None:
    """Show the settings of a topic or a broker.

    `config describe broker` without a number shows the settings that hold for all brokers.
    """
    _refuse_nameless(kind, name)

    async def ask(cluster: Cluster) -> list[tuple[object, ...]]:
        await _there(cluster, kind, name)
        found = await admin.describe_settings(cluster, KINDS[kind], name)
        return [
            (row.name, row.value, Source(row.config_source).name.lower())
            for row in sorted(found, key=lambda row: row.name)
            if everything or row.config_source != Source.DEFAULT
        ]

    show_table(("setting", "value", "source"), talk(ask))


def _refuse_nameless(kind: str, name: str) -> None:
    if kind == "topic" and not name:
        raise click.UsageError("name a topic")


async def _there(cluster: Cluster, kind: str, name: str) -> None:
    """Refuses a name that nothing has."""
    if kind == "topic":
        await topics_named(cluster, [name])
    elif name:
        if not name.isdecimal():
            raise click.BadParameter(f"{name!r} is no broker's id", param_hint="NAME")
        await brokers_named(cluster, [int(name)])


@command.command()
@_kind
@click.argument("name", default="")
@click.option("-s", "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set this.")
@click.option("-d", "--delete", "gone", multiple=True, metavar="NAME", help="Back to the default.")
def alter(*, kind: str, name: str, settings: tuple[str, ...], gone: tuple[str, ...]) -> None:
    """Change settings at run time.

    `config alter broker` without a number changes them for all brokers.
    """
    _refuse_nameless(kind, name)
    changes = settings_of(settings)
    if not changes and not gone:
        raise click.UsageError("nothing to change: use --set or --delete")

    async def ask(cluster: Cluster) -> None:
        await _there(cluster, kind, name)
        known_by = name
        if kind == "broker" and not name:
            known_by = str((await brokers_named(cluster, ()))[0])
        await refuse_unknown_settings(cluster, KINDS[kind], known_by, (*changes, *gone))
        await admin.alter_settings(cluster, KINDS[kind], name, to=changes, delete=gone)

    talk(ask)
    done = [f"{setting}={value}" for setting, value in changes.items()]
    done += [f"{setting} back to its default" for setting in gone]
    what = f"{kind} {name}" if name else "all brokers"
    fields = {kind: name or None, "set": changes, "deleted": list(gone)}
    show_outcomes([(f"{what}: {', '.join(done)}", fields)])

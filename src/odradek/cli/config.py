"""`odradek config`: settings of topics and brokers."""

import click

from odradek.cli.talking import as_json, bootstrap, print_rows, settings_of, talk
from odradek.client import admin
from odradek.config.describe import Source

KINDS = {"topic": admin.TOPIC, "broker": admin.BROKER}
_kind = click.argument("kind", type=click.Choice(list(KINDS)))


@click.group()
def command() -> None:
    """Settings: show and change those of topics and brokers."""


@command.command()
@_kind
@click.argument("name", default="")
@click.option("--all", "everything", is_flag=True, help="Defaults, too.")
@as_json
@bootstrap
def describe(*, bootstrap: str, kind: str, name: str, everything: bool, as_json: bool) -> None:
    """Show the settings of a topic or a broker; without a name, of all brokers."""
    found = talk(bootstrap, lambda cluster: admin.describe_settings(cluster, KINDS[kind], name))
    rows = [
        (row.name, row.value, Source(row.config_source).name.lower().replace("_", " "))
        for row in sorted(found, key=lambda row: row.name)
        if everything or row.config_source != Source.DEFAULT
    ]
    print_rows(("setting", "value", "set by"), rows, as_json=as_json)


@command.command()
@_kind
@click.argument("name", default="")
@click.option("-s", "--set", "settings", multiple=True, metavar="NAME=VALUE", help="Set this.")
@click.option("-d", "--delete", "gone", multiple=True, metavar="NAME", help="Take this back.")
@bootstrap
def alter(
    *, bootstrap: str, kind: str, name: str, settings: tuple[str, ...], gone: tuple[str, ...]
) -> None:
    """Change settings; they hold at once. Without a name, for all brokers."""
    changes = settings_of(settings)
    if not changes and not gone:
        raise click.UsageError("say what to --set or to --delete")
    talk(
        bootstrap,
        lambda cluster: admin.alter_settings(cluster, KINDS[kind], name, to=changes, delete=gone),
    )
    click.echo(f"{kind} {name or 'settings'} altered")

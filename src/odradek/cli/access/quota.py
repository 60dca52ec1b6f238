"""`odradek quota`: what users, clients and addresses may use of each broker."""

from typing import Any, Final

import click

from odradek.cli.reaching.talking import settings_of, talk
from odradek.cli.replicas.throttle import RATE
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import show_outcomes, show_table
from odradek.cli.words.grammar import DestroyingVerb, Noun
from odradek.client.admin import quotas
from odradek.client.admin.quotas import Quota, in_words
from odradek.client.cluster import Cluster
from odradek.quotas.changes import ADDRESS, CLIENT, USER, Name, Parts

DEFAULT: Final = "<default>"
"""As Kafka's tree says: all that have nothing of their own."""
COLUMNS: Final = ("user", "client", "address", "quota", "value")
BYTES: Final = frozenset({"producer_byte_rate", "consumer_byte_rate"})


def _entity(verb: Any) -> Any:
    """Whose quotas are meant."""
    for flag, what in (("--ip", "an address"), ("--client", "a client id"), ("--user", "a user")):
        note = f"Of {what}; {DEFAULT} is all without one of their own."
        verb = click.option(flag, metavar="NAME", help=note)(verb)
    return verb


@click.group(cls=Noun)
def command() -> None:
    """Quotas of users, clients, addresses: list, set, remove."""


@command.command(name="list")
@_entity
def list_quotas(*, user: str | None, client: str | None, ip: str | None) -> None:
    """List quotas: all, or those of some users, clients or addresses.

    Each holds for every broker by itself.
    """
    wanted: dict[str, Name] = {**_parts(user, client, ip)}
    found = talk(lambda cluster: quotas.describe(cluster, wanted))
    show_table(COLUMNS, [row for it in found for row in _rows(it)], "no quota is set")


def _rows(found: Quota) -> list[tuple[object, ...]]:
    cells = [
        DEFAULT if kind in found.parts and found.parts[kind] is None else found.parts.get(kind)
        for kind in (USER, CLIENT, ADDRESS)
    ]
    return [(*cells, name, f"{value:.15g}") for name, value in found.values.items()]


@command.command(name="set")
@_entity
@click.argument("settings", nargs=-1, metavar="NAME=VALUE...")
def set_quotas(
    *, user: str | None, client: str | None, ip: str | None, settings: tuple[str, ...]
) -> None:
    """Set quotas of a user, a client, a client of a user, or an address.

    For users and clients: producer_byte_rate and consumer_byte_rate (bytes a second, 10M is
    understood), request_percentage (of a core), controller_mutation_rate (partitions a second).
    For addresses: connection_creation_rate (a second). The most specific quota counts.
    """
    parts = _one(user, client, ip)
    if not settings:
        raise click.UsageError("nothing to set: give NAME=VALUE")
    values = {name: _value(name, text) for name, text in settings_of(settings).items()}
    talk(lambda cluster: quotas.alter(cluster, parts, values))
    whose = in_words(parts)
    said = ", ".join(f"{name}={value:.15g}" for name, value in values.items())
    show_outcomes([(f"{whose}: {said}", {**parts, **values})])


def _value(name: str, text: str) -> float:
    if name in BYTES:
        return RATE.convert(text, None, None)
    try:
        return float(text)
    except ValueError:
        raise click.BadParameter(f"{name}={text} is no number") from None


@command.command(cls=DestroyingVerb)
@_entity
@click.argument("names", nargs=-1, metavar="NAME...")
def remove(*, user: str | None, client: str | None, ip: str | None, names: tuple[str, ...]) -> None:
    """Take quotas away: those that are named, or all of this user, client or address."""
    parts = _one(user, client, ip)
    whose = in_words(parts)
    confirm(f"remove {', '.join(names) or 'all quotas'} of {whose}")

    async def ask(cluster: Cluster) -> list[str]:
        found = await quotas.describe(cluster, {**parts}, is_strict=True)
        gone = [name for it in found for name in it.values if name in names or not names]
        if gone:
            await quotas.alter(cluster, parts, {}, gone)
        return gone

    rows = [(f"{whose} has no {name}", {**parts, "quota": name}) for name in talk(ask)]
    show_outcomes(rows, f"{whose} had no such quota")


def _parts(user: str | None, client: str | None, ip: str | None) -> Parts:
    said = {USER: user, CLIENT: client, ADDRESS: ip}
    return {
        kind: None if name == DEFAULT else name for kind, name in said.items() if name is not None
    }


def _one(user: str | None, client: str | None, ip: str | None) -> Parts:
    parts = _parts(user, client, ip)
    if not parts or (ADDRESS in parts and len(parts) > 1):
        raise click.UsageError("name --user, --client, both, or --ip")
    return parts

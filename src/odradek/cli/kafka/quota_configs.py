"""`kafka-configs` for quotas of users, clients and addresses."""

from collections.abc import Mapping, Sequence
from typing import Final

import click

from odradek.cli.words.failing import Failed
from odradek.client.admin import quotas
from odradek.client.cluster import Cluster
from odradek.quotas.changes import ADDRESS, CLIENT, OF_ADDRESSES, OF_CLIENTS, USER, AnyName, Name

KINDS: Final = {"users": USER, "clients": CLIENT, "ips": ADDRESS}
WORDS: Final = {USER: "user-principal", CLIENT: "client-id", ADDRESS: "ip"}
Entities = Mapping[str, str | None]
"""Kinds and their names: empty for what has nothing of its own, None for each."""


async def describe(cluster: Cluster, entities: Entities) -> None:
    """A line for each."""
    for it in await quotas.describe(cluster, _names(entities), is_strict=True):
        values = ", ".join(f"{name}={value}" for name, value in it.values.items())
        whose = quotas.in_words(it.parts, WORDS, "the default")
        click.echo(f"Quota configs for {whose} are {values}")


def _names(entities: Entities) -> dict[str, Name]:
    return {
        KINDS[kind]: AnyName() if name is None else name or None for kind, name in entities.items()
    }


def check(entities: Entities, names: Sequence[str]) -> None:
    """Refuses what is no quota of these."""
    known = OF_ADDRESSES if "ips" in entities else OF_CLIENTS
    unknown = [name for name in names if name not in known]
    if unknown:
        kind = next(iter(entities))
        raise Failed(
            f"Only {'connection quota' if kind == 'ips' else 'quota'} configs can be added for"
            f" '{kind}' using --bootstrap-server. Unexpected config names: {', '.join(unknown)}"
        )


async def alter(
    cluster: Cluster, entities: Entities, changes: Mapping[str, str], gone: Sequence[str]
) -> None:
    """All at once; what is deleted must be there."""
    found = await quotas.describe(cluster, _names(entities), is_strict=True)
    missing = [name for name in gone if not any(name in it.values for it in found)]
    if missing:
        raise Failed(f"Invalid config(s): {','.join(missing)}")
    parts = {KINDS[kind]: name or None for kind, name in entities.items()}
    values = {name: _number(name, text) for name, text in changes.items()}
    await quotas.alter(cluster, parts, values, gone)


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise Failed(f"Cannot parse quota configuration value for {name}: {text}") from None

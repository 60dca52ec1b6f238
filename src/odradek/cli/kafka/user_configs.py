"""`kafka-configs --entity-type users`: SCRAM credentials; quotas are not there."""

import asyncio
from collections.abc import Mapping, Sequence

import click

from odradek.cli.failing import Failed
from odradek.cli.tree import in_tree
from odradek.cli.user_credentials import write_credentials
from odradek.client import scram_users
from odradek.client.cluster import Cluster
from odradek.client.scram_users import SALT_BYTES, NewCredential, parse_credential, scram_named
from odradek.runtime.chance import SystemRandom
from odradek.security.scram import SCRAMS
from odradek.security.scram_changes import Deletion, Upsertion


def credentials(changes: Mapping[str, str]) -> list[tuple[NewCredential, bytes]]:
    """Of `SCRAM-SHA-256=[iterations=8192,password=secret]`, each with a salt."""
    for name in changes:
        _check(name)
    salt = SystemRandom().bytes
    return [(parse_credential(*change), salt(SALT_BYTES)) for change in changes.items()]


def _check(name: str) -> None:
    if name not in SCRAMS:
        known = ", ".join(SCRAMS)
        raise Failed(f"Only {known} can be set for users here, not {name!r}: there are no quotas")


async def alter(
    cluster: Cluster, user: str, changes: Mapping[str, str], gone: Sequence[str]
) -> None:
    """By the cluster's controller."""
    for name in gone:
        _check(name)
    await scram_users.alter(cluster, user, credentials(changes), [scram_named(it) for it in gone])
    click.echo(_done(user))


def alter_in_zookeeper(
    connect: str, user: str, changes: Mapping[str, str], gone: Sequence[str]
) -> None:
    """For the first user, whose password brokers need among themselves."""
    for name in gone:
        _check(name)
    wanted: list[Deletion | Upsertion] = [Deletion(scram_named(it).number) for it in gone]
    wanted += [
        Upsertion(it.scram.number, it.rounds, salt, it.salted(salt))
        for it, salt in credentials(changes)
    ]
    asyncio.run(in_tree(connect, lambda client: write_credentials(client, user, wanted)))
    click.echo(_done(user))


def _done(user: str) -> str:
    return f"Completed updating config for user {user}."


async def describe(cluster: Cluster, user: str | None) -> None:
    """No salt and no key is told."""
    found: dict[str, list[str]] = {}
    for it in await scram_users.describe(cluster, None if user is None else [user]):
        found.setdefault(it.user, []).append(f"{it.mechanism}=iterations={it.iterations}")
    for name, rows in found.items():
        rows_text = ", ".join(rows)
        click.echo(f"SCRAM credential configs for user-principal '{name}' are {rows_text}")

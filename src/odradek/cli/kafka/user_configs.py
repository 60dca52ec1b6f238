"""`kafka-configs --entity-type users`: SCRAM credentials."""

import asyncio
from collections.abc import Mapping, Sequence

import click

from odradek.cli.reaching.tree import in_tree
from odradek.cli.serving.tree_settings import write_settings
from odradek.cli.words.failing import Failed
from odradek.client.admin import scram_users
from odradek.client.admin.scram_users import (
    SALT_BYTES,
    NewCredential,
    parse_credential,
    scram_named,
)
from odradek.client.cluster import Cluster
from odradek.client.errors import Refused
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.settings import user_entity
from odradek.model.errors import ErrorCode
from odradek.runtime.doors.chance import SystemRandom
from odradek.security.mechanisms.scram import SCRAMS
from odradek.security.scram_changes import Deletion, Upsertion, changed
from odradek.security.zookeeper_access import ZooKeeperAccess


def credentials(changes: Mapping[str, str]) -> list[tuple[NewCredential, bytes]]:
    """Of `SCRAM-SHA-256=[iterations=8192,password=secret]`, each with a salt."""
    for name in changes:
        _check(name)
    salt = SystemRandom().bytes
    return [(parse_credential(*change), salt(SALT_BYTES)) for change in changes.items()]


def _check(name: str) -> None:
    if name not in SCRAMS:
        known = ", ".join(SCRAMS)
        raise Failed(f"Only {known} can be set in ZooKeeper here, not {name!r}")


async def alter(
    cluster: Cluster, user: str, changes: Mapping[str, str], gone: Sequence[str]
) -> None:
    """By the cluster's controller."""
    for name in gone:
        _check(name)
    await scram_users.alter(cluster, user, credentials(changes), [scram_named(it) for it in gone])


def alter_in_zookeeper(
    where: tuple[str, ZooKeeperAccess], user: str, changes: Mapping[str, str], gone: Sequence[str]
) -> None:
    """For the first user, whose password brokers need among themselves."""
    for name in gone:
        _check(name)
    wanted: list[Deletion | Upsertion] = [Deletion(scram_named(it).number) for it in gone]
    wanted += [
        Upsertion(it.scram.number, it.rounds, salt, it.salted(salt))
        for it, salt in credentials(changes)
    ]

    async def work(client: ZooKeeperClient) -> None:
        await write_settings(client, user_entity(user), lambda it: changed(user, wanted, it))

    connect, access = where
    asyncio.run(in_tree(connect, work, access))


async def describe(cluster: Cluster, user: str | None) -> None:
    """No salt and no key is told, and nothing of a user without a password."""
    found: dict[str, list[str]] = {}
    try:
        known = await scram_users.describe(cluster, None if user is None else [user])
    except Refused as error:
        if error.code is not ErrorCode.RESOURCE_NOT_FOUND:
            raise
        return
    for it in known:
        found.setdefault(it.user, []).append(f"{it.mechanism}=iterations={it.iterations}")
    for name, rows in found.items():
        rows_text = ", ".join(rows)
        click.echo(f"SCRAM credential configs for user-principal '{name}' are {rows_text}")

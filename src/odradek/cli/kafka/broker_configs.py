"""`kafka-configs --zookeeper --entity-type brokers`: what a broker needs before its first start.

Passwords are encrypted with `password.encoder.secret`, which is named beside them, as for Kafka's
script, and is not written. Where a broker runs that would act on the change, it is asked instead.
"""

import asyncio
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from odradek.broker.passwords import Passwords, is_password
from odradek.cli.reaching.tree import in_tree
from odradek.cli.serving.tree_settings import write_settings
from odradek.cli.words.failing import Failed
from odradek.config.broker import Layers, dynamic_layer, read
from odradek.config.findings import Given, refuse
from odradek.config.rows.security import PASSWORD_ENCODER_SECRET
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.znodes.broker import BrokerIdsZnode
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.names import DEFAULT_ENTITY
from odradek.runtime.doors.chance import SystemRandom
from odradek.security.zookeeper_access import ZooKeeperAccess
from odradek.zookeeper.client.errors import NoNode

OF_ENCODER: Final = "password.encoder."


def alter_in_zookeeper(
    where: tuple[str, ZooKeeperAccess], broker: str, changes: Mapping[str, str], gone: Sequence[str]
) -> None:
    """Of one broker, or, with an empty name, of all."""
    passwords = _passwords({it: text for it, text in changes.items() if it.startswith(OF_ENCODER)})
    wanted = {it: text for it, text in changes.items() if not it.startswith(OF_ENCODER)}
    refuse(dynamic_layer(wanted, per_broker=bool(broker))[1])
    if any(map(is_password, wanted)) and PASSWORD_ENCODER_SECRET.name not in changes:
        raise Failed(f"{PASSWORD_ENCODER_SECRET.name} must be named in --add-config, too")

    def change(before: Mapping[str, str]) -> Mapping[str, str]:
        missing = [it for it in gone if it not in before]
        if missing:
            raise Failed(f"Invalid config(s): {','.join(missing)}")
        kept = {it: text for it, text in before.items() if it not in gone and it not in wanted}
        return kept | passwords.hidden(wanted, {}, SystemRandom().bytes)

    async def work(client: ZooKeeperClient) -> None:
        running = await _running(client)
        if broker in running or (running and not broker):
            which = f"broker {broker} runs" if broker else "brokers run"
            raise Failed(f"{which}: use --bootstrap-server instead of --zookeeper")
        await write_settings(client, Entity(EntityType.BROKERS, broker or DEFAULT_ENTITY), change)

    connect, access = where
    asyncio.run(in_tree(connect, work, access))


def _passwords(texts: Mapping[str, str]) -> Passwords:
    static = {it: Given(text, "--add-config") for it, text in texts.items()}
    config, findings = read(Layers(static=MappingProxyType(static)))
    refuse(findings)
    found = Passwords(config)
    found.check()
    return found


async def _running(client: ZooKeeperClient) -> frozenset[str]:
    try:
        return frozenset((await client.children(BrokerIdsZnode.PATH)).names)
    except NoNode:  # the first broker makes it
        return frozenset()

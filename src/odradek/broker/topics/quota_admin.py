"""Quotas of users, clients and addresses, in ZooKeeper as Kafka keeps them (KIP-546)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple
from urllib.parse import unquote

from odradek.broker.control.entities import entities
from odradek.broker.topics.config_admin import ConfigAdmin, NotWritten
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode, sanitized
from odradek.model.errors import BrokerError
from odradek.model.names import DEFAULT_ENTITY
from odradek.quotas.changes import (
    ADDRESS,
    CLIENT,
    OF_ADDRESSES,
    OF_CLIENTS,
    USER,
    Operation,
    Parts,
    Wanted,
    altered,
    values,
)
from odradek.zookeeper.client.errors import NodeExists
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import GetData

CLIENTS: Final = EntityType.CLIENTS.value
NAMES: Final = {
    EntityType.USERS: OF_CLIENTS,
    EntityType.CLIENTS: OF_CLIENTS,
    EntityType.IPS: OF_ADDRESSES,
}
"""The settings that are quotas."""


class Described(NamedTuple):
    """What is set for an entity."""

    parts: Parts
    values: Mapping[str, float]


class QuotaAdmin:
    """Describes and alters; every broker hears of a change and acts on it."""

    def __init__(self, client: ZooKeeperClient, config_admin: ConfigAdmin) -> None:
        self._client = client
        self._config_admin = config_admin

    async def alter(
        self, parts: Parts, operations: Sequence[Operation], *, validate_only: bool
    ) -> BrokerError | None:
        """All operations of an entity, or none of them; why not."""
        entity = entity_of(parts)
        try:
            altered(parts, operations, {})  # what cannot be leaves no node behind
            if not validate_only:
                await self._make_parents(entity)
            await self._config_admin.make(
                entity,
                lambda found: altered(parts, operations, found),
                validate_only=validate_only,
            )
        except BrokerError as error:
            return error
        return None

    async def _make_parents(self, entity: Entity) -> None:
        """A user's clients lie below the user, who may have nothing else."""
        user, below, _ = entity.name.partition(f"/{CLIENTS}/")
        if not below:
            return
        path = SettingsZnode.path(Entity(entity.type, user))
        try:
            for each in (path, f"{path}/{CLIENTS}"):
                with suppress(NodeExists):
                    await self._client.create(each, b"")
        except KeeperError as error:
            raise NotWritten(f"{entity}: {error}") from error

    async def describe(self, wanted: Wanted) -> list[Described]:
        """All that are asked for and have a quota."""
        found = []
        for kind, names in NAMES.items():
            fit = [it for it in await entities(self._client, kind) if wanted.means(parts_of(it))]
            reads = [GetData(SettingsZnode.path(it)) for it in fit]
            answers = await self._client.batch(reads) if reads else []
            for entity, answer in zip(fit, answers, strict=True):
                set_here = _values(entity, answer, names)
                if set_here:
                    found.append(Described(parts_of(entity), set_here))
        return found


def _values(entity: Entity, answer: object, names: frozenset[str]) -> dict[str, float]:
    if not isinstance(answer, Data):
        return {}
    try:
        return values(SettingsZnode.decode(entity, answer.data), names)
    except MalformedZnode:
        return {}


def entity_of(parts: Parts) -> Entity:
    """Where the settings of an entity are."""
    if ADDRESS in parts:
        return Entity(EntityType.IPS, _written(parts[ADDRESS]))
    if USER not in parts:
        return Entity(EntityType.CLIENTS, _written(parts[CLIENT]))
    user = _written(parts[USER])
    if CLIENT not in parts:
        return Entity(EntityType.USERS, user)
    return Entity(EntityType.USERS, f"{user}/{CLIENTS}/{_written(parts[CLIENT])}")


def parts_of(entity: Entity) -> Parts:
    """The other way round."""
    if entity.type is EntityType.IPS:
        return {ADDRESS: _read(entity.name)}
    if entity.type is EntityType.CLIENTS:
        return {CLIENT: _read(entity.name)}
    user, below, client = entity.name.partition(f"/{CLIENTS}/")
    return {USER: _read(user), CLIENT: _read(client)} if below else {USER: _read(user)}


def _written(name: str | None) -> str:
    return DEFAULT_ENTITY if name is None else sanitized(name)


def _read(name: str) -> str | None:
    return None if name == DEFAULT_ENTITY else unquote(name)

"""SCRAM credentials of users, in ZooKeeper below `/config/users` as Kafka keeps them (KIP-554)."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.broker.topics.config_admin import ConfigAdmin
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode, user_entity, user_of
from odradek.model.errors import BrokerError
from odradek.security.scram_changes import (
    Deletion,
    DuplicateCredential,
    NoSuchCredential,
    Upsertion,
    changed,
    described,
)
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import GetData

Changes = Mapping[str, list[Deletion | Upsertion]]
"""By user."""


class UserCredentials(NamedTuple):
    """What is told of a user: no key, no salt."""

    user: str
    credentials: list[tuple[int, int]]
    error: BrokerError | None = None


class ScramAdmin:
    """Describes and alters; every broker hears of a change and acts on it."""

    def __init__(self, client: ZooKeeperClient, config_admin: ConfigAdmin) -> None:
        self._client = client
        self._config_admin = config_admin

    async def alter(self, changes: Changes) -> dict[str, BrokerError | None]:
        """Each user by itself."""
        return {user: await self._alter(user, wanted) for user, wanted in changes.items()}

    async def _alter(self, user: str, wanted: list[Deletion | Upsertion]) -> BrokerError | None:
        try:
            await self._config_admin.make(
                user_entity(user), lambda found: changed(user, wanted, found), validate_only=False
            )
        except BrokerError as error:
            return error
        return None

    async def describe(self, users: Sequence[str] | None) -> list[UserCredentials]:
        """These users, or all that have a credential."""
        if users is None:
            names = (await self._client.children(SettingsZnode.parent(EntityType.USERS))).names
            entities = [Entity(EntityType.USERS, name) for name in sorted(names)]
            return [it for it in await self._read(entities) if it.credentials]
        unique = list(dict.fromkeys(users))
        found = await self._read([user_entity(name) for name in unique])
        return [_checked(it, list(users)) for it in found]

    async def _read(self, entities: list[Entity]) -> list[UserCredentials]:
        reads = [GetData(SettingsZnode.path(it)) for it in entities]
        answers = await self._client.batch(reads) if reads else []
        return [
            UserCredentials(user_of(entity), _credentials(entity, answer))
            for entity, answer in zip(entities, answers, strict=True)
        ]


def _credentials(entity: Entity, answer: object) -> list[tuple[int, int]]:
    if not isinstance(answer, Data):
        return []
    try:
        return described(SettingsZnode.decode(entity, answer.data))
    except MalformedZnode:
        return []


def _checked(found: UserCredentials, asked: list[str]) -> UserCredentials:
    if asked.count(found.user) > 1:
        text = f"Cannot describe SCRAM credentials for the same user twice: {found.user}"
        return found._replace(credentials=[], error=DuplicateCredential(text))
    if not found.credentials:
        text = f"Attempt to describe a user credential that does not exist: {found.user}"
        return found._replace(error=NoSuchCredential(text))
    return found

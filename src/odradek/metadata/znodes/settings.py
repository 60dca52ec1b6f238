"""/config: the settings of topics, brokers, clients, users and addresses, and news of changes.

A change is two znodes: the entity's settings, and a sequential one that names the entity. Every
broker watches the second, and reads the first anew. We write both at once, Kafka one after the
other.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final, NamedTuple
from urllib.parse import unquote

from odradek.metadata.json_body import Body, encoded


class EntityType(Enum):
    """What can have settings; the values are names of znodes."""

    TOPICS = "topics"
    CLIENTS = "clients"
    USERS = "users"
    BROKERS = "brokers"
    IPS = "ips"


class Entity(NamedTuple):
    """Something with settings. A user's client is named `user/clients/client`."""

    type: EntityType
    name: str

    def __str__(self) -> str:
        return f"{self.type.value}/{self.name}"


_AS_THEY_ARE: Final = frozenset(
    b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
)


def sanitized(name: str) -> str:
    """As Kafka's `Sanitizer` writes it, so that any name may be a znode's."""
    return "".join(
        chr(byte) if byte in _AS_THEY_ARE else f"%{byte:02X}"
        for byte in name.encode("utf-8", "surrogatepass")
    )


def user_entity(name: str) -> Entity:
    """A user."""
    return Entity(EntityType.USERS, sanitized(name))


def user_of(entity: Entity) -> str:
    """The name of a user, from the one of its znode."""
    return unquote(entity.name)


class SettingsZnode:
    """The settings of one entity, as texts."""

    @staticmethod
    def path(entity: Entity) -> str:
        """Where its settings are."""
        return f"/config/{entity}"

    @staticmethod
    def parent(kind: EntityType) -> str:
        """Above all entities of a type."""
        return f"/config/{kind.value}"

    @staticmethod
    def encode(settings: Mapping[str, str]) -> bytes:
        """In the order of their names."""
        return encoded({"version": 1, "config": dict(sorted(settings.items()))})

    @classmethod
    def decode(cls, entity: Entity, data: bytes | None) -> dict[str, str]:
        """The settings; none where the znode holds nothing, as those above others do."""
        if not data:
            return {}
        body = Body.parse(cls.path(entity), data)
        body.integer("version", low=1, high=1)
        settings = body.body("config")
        return {name: settings.text(name) for name in settings.names()}


class SettingsChangeZnode:
    """Sequential: an entity whose settings were changed."""

    PARENT: Final = "/config/changes"
    CREATE_PATH: Final = f"{PARENT}/config_change_"

    @staticmethod
    def encode(entity: Entity) -> bytes:
        """Version 2: the entity's path below /config."""
        return encoded({"version": 2, "entity_path": str(entity)})

    @classmethod
    def decode(cls, data: bytes | None) -> Entity:
        """Version 2 only: version 1 is from before Kafka 0.10.1."""
        body = Body.parse(cls.PARENT, data)
        body.integer("version", low=2, high=2)
        path = body.text("entity_path")
        kind, _, name = path.partition("/")
        if not name or kind not in {it.value for it in EntityType}:
            body.refuse("entity_path", path, "the path of an entity")
        return Entity(EntityType(kind), name)

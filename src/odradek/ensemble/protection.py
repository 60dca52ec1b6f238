"""Whom Kafka's znodes belong to where `zookeeper.set.acl` is on: the same as with Kafka 3.9.

Who makes a znode may do everything with it, everybody may read it. Credentials of users, settings
of brokers and tokens no other client may read. The old consumers' `/consumers` stays open.
"""

from collections.abc import Callable
from typing import Final

from odradek.zookeeper.protocol.codes import ALL_PERMISSIONS, Permission
from odradek.zookeeper.protocol.jute import ANYONE, OPEN_ACL, Acl, Identity

AclOf = Callable[[str], tuple[Acl, ...]]
CREATOR: Final = Identity("auth", "")
"""The principal that this connection has proven to be; the server puts the names in its place."""
ACL_SENSITIVE: Final = (Acl(ALL_PERMISSIONS, CREATOR),)
ACL_READABLE: Final = (*ACL_SENSITIVE, Acl(Permission.READ, ANYONE))
OPEN_PATH: Final = "/consumers"
SENSITIVE_PATHS: Final = ("/config/users", "/config/brokers", "/delegation_token/tokens")
SECURE_ROOTS: Final = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    "/controller",
    "/controller_epoch",
    "/isr_change_notification",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/delegation_token",
    "/kafka-acl-extended",
    "/migration",
    "/feature",
    "/kafka-acl",
    "/kafka-acl-changes",
    "/kafka-acl-extended-changes",
)
"""Kafka's paths; below them everything is."""


def protected(path: str) -> tuple[Acl, ...]:
    """The ACL of a znode that is made, or secured later."""
    if path == OPEN_PATH:
        return OPEN_ACL
    return ACL_SENSITIVE if path.startswith(SENSITIVE_PATHS) else ACL_READABLE


def unprotected(path: str) -> tuple[Acl, ...]:
    """Everybody may do everything."""
    del path
    return OPEN_ACL

"""The words of access rules, with Kafka's numbers: on what, what, and whether it is allowed."""

from enum import IntEnum
from typing import Final, NamedTuple

ANY: Final = 1  # in a filter: whatever it is


class Titled(IntEnum):
    """A word of access rules."""

    @property
    def title(self) -> str:
        """As Kafka writes it in ZooKeeper: `TransactionalId`."""
        return "".join(part.capitalize() for part in self.name.split("_"))


class ResourceType(Titled):
    """What is acted on."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(Titled):
    """How a rule names its resources."""

    LITERAL = 3
    PREFIXED = 4


class Operation(Titled):
    """What is done to a resource."""

    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14


class Effect(Titled):
    """What a rule says of it."""

    DENY = 2
    ALLOW = 3


class Resource(NamedTuple):
    """One thing that somebody wants to act on."""

    type: ResourceType
    name: str


class Pattern(NamedTuple):
    """The resources that a rule is about. A literal `*` is all of the type."""

    resource_type: ResourceType
    type: PatternType
    name: str


class Rule(NamedTuple):
    """What one principal may do, or may not, from one address. `*` is any of them."""

    principal: str
    host: str
    operation: Operation
    effect: Effect


ANY_NAME: Final = "*"
ANY_HOST: Final = "*"
ANY_USER: Final = "User:*"
CLUSTER: Final = Resource(ResourceType.CLUSTER, "kafka-cluster")
IMPLIED_BY: Final = {
    Operation.DESCRIBE: (Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER),
    Operation.DESCRIBE_CONFIGS: (Operation.ALTER_CONFIGS,),
}
"""Who may do one of these may do the first as well; who is denied one of these is not denied it."""
OPERATIONS: Final = {
    ResourceType.TOPIC: (
        Operation.READ,
        Operation.WRITE,
        Operation.CREATE,
        Operation.DELETE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (Operation.READ, Operation.DELETE, Operation.DESCRIBE),
    ResourceType.CLUSTER: (
        Operation.CREATE,
        Operation.ALTER,
        Operation.DESCRIBE,
        Operation.CLUSTER_ACTION,
        Operation.DESCRIBE_CONFIGS,
        Operation.ALTER_CONFIGS,
        Operation.IDEMPOTENT_WRITE,
    ),
    ResourceType.TRANSACTIONAL_ID: (Operation.WRITE, Operation.DESCRIBE),
    ResourceType.DELEGATION_TOKEN: (Operation.DESCRIBE,),
    ResourceType.USER: (Operation.CREATE_TOKENS, Operation.DESCRIBE_TOKENS),
}
"""What can be done to each; answers that list what a client may do keep to these."""

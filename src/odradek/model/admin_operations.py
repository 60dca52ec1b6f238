"""What our brokers are asked beyond Kafka's protocol: operations of OdradekAdmin (key 20292).

An operation says what it acts on and what an access rule would have to allow, in Kafka's terms, so
that access control can be applied to it as to any other request. A row here is its contract between
client and broker; `broker/handlers/operations/` has a module for each that carries it out.
"""

from enum import IntEnum
from typing import Final, NamedTuple


class ResourceType(IntEnum):
    """What is acted on, with Kafka's numbers; a log dir belongs to its broker."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    BROKER = 100  # Kafka has none for access rules


class Permission(IntEnum):
    """What must be allowed, with Kafka's numbers of ACL operations."""

    ALTER = 7
    DESCRIBE = 8


class AdminOperation(NamedTuple):
    """One operation: its name on the wire, its resource, its permission."""

    name: str
    resource: ResourceType
    permission: Permission


CLUSTER_NAME: Final = "kafka-cluster"
"""The resource name of the cluster, as Kafka's access rules call it."""

CLUSTER_HEALTH: Final = AdminOperation("cluster.health", ResourceType.CLUSTER, Permission.DESCRIBE)
CONTROLLER_DESCRIBE: Final = AdminOperation(
    "controller.describe", ResourceType.CLUSTER, Permission.DESCRIBE
)
CONTROLLER_MOVE: Final = AdminOperation("controller.move", ResourceType.CLUSTER, Permission.ALTER)
CONTROLLER_PLACEMENT: Final = AdminOperation(
    "controller.placement", ResourceType.CLUSTER, Permission.DESCRIBE
)

CLIENTS_WATCH: Final = AdminOperation("clients.watch", ResourceType.BROKER, Permission.DESCRIBE)
LOG_DIRS_DESCRIBE: Final = AdminOperation(
    "logdirs.describe", ResourceType.BROKER, Permission.DESCRIBE
)
LOG_DIR_OFFLINE: Final = AdminOperation("logdirs.offline", ResourceType.BROKER, Permission.ALTER)
LOG_DIR_REPLACE: Final = AdminOperation("logdirs.replace", ResourceType.BROKER, Permission.ALTER)
LOG_DIR_CORDON: Final = AdminOperation("logdirs.cordon", ResourceType.BROKER, Permission.ALTER)
LOG_DIR_UNCORDON: Final = AdminOperation("logdirs.uncordon", ResourceType.BROKER, Permission.ALTER)
REPLICAS_DESCRIBE: Final = AdminOperation(
    "replicas.describe", ResourceType.BROKER, Permission.DESCRIBE
)

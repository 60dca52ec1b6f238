"""What our brokers are asked beyond Kafka's protocol: operations of OdradekAdmin (key 20292).

An operation says what it acts on and what an access rule would have to allow, in Kafka's terms, so
that access control can be applied to it as to any other request. A row here is its contract between
client and broker; `broker/handlers/operations/` has a module for each that carries it out.
"""

from enum import IntEnum
from typing import Final, NamedTuple

from odradek.model.access import Operation


class ActsOn(IntEnum):
    """What an operation acts on. Kafka has no access rules for one broker: its cluster's count."""

    CLUSTER = 4  # Kafka's number
    BROKER = 100


class AdminOperation(NamedTuple):
    """One operation: its name on the wire, what it acts on, what must be allowed on the cluster."""

    name: str
    resource: ActsOn
    permission: Operation


CLUSTER_NAME: Final = "kafka-cluster"
"""The resource name of the cluster, as Kafka's access rules call it."""

CLUSTER_HEALTH: Final = AdminOperation("cluster.health", ActsOn.CLUSTER, Operation.DESCRIBE)
CONTROLLER_DESCRIBE: Final = AdminOperation(
    "controller.describe", ActsOn.CLUSTER, Operation.DESCRIBE
)
CONTROLLER_MOVE: Final = AdminOperation("controller.move", ActsOn.CLUSTER, Operation.ALTER)
CONTROLLER_PLACEMENT: Final = AdminOperation(
    "controller.placement", ActsOn.CLUSTER, Operation.DESCRIBE
)
CONTROLLER_UNPREFER: Final = AdminOperation("controller.unprefer", ActsOn.CLUSTER, Operation.ALTER)

CERTIFICATES_DESCRIBE: Final = AdminOperation(
    "certificates.describe", ActsOn.BROKER, Operation.DESCRIBE
)
CLIENTS_WATCH: Final = AdminOperation("clients.watch", ActsOn.BROKER, Operation.DESCRIBE)
COORDINATORS_DESCRIBE: Final = AdminOperation(
    "coordinators.describe", ActsOn.BROKER, Operation.DESCRIBE
)
FETCHERS_DESCRIBE: Final = AdminOperation("fetchers.describe", ActsOn.BROKER, Operation.DESCRIBE)
BROKER_HOST: Final = AdminOperation("broker.host", ActsOn.BROKER, Operation.DESCRIBE)
LOG_DIRS_DESCRIBE: Final = AdminOperation("logdirs.describe", ActsOn.BROKER, Operation.DESCRIBE)
LOG_DIR_OFFLINE: Final = AdminOperation("logdirs.offline", ActsOn.BROKER, Operation.ALTER)
LOG_DIR_REPLACE: Final = AdminOperation("logdirs.replace", ActsOn.BROKER, Operation.ALTER)
LOG_DIR_CORDON: Final = AdminOperation("logdirs.cordon", ActsOn.BROKER, Operation.ALTER)
LOG_DIR_UNCORDON: Final = AdminOperation("logdirs.uncordon", ActsOn.BROKER, Operation.ALTER)
MOVES_DESCRIBE: Final = AdminOperation("moves.describe", ActsOn.BROKER, Operation.DESCRIBE)
REPLICAS_DESCRIBE: Final = AdminOperation("replicas.describe", ActsOn.BROKER, Operation.DESCRIBE)

"""What a request needs: the operation, the resource, and where it is decided.

Each module of `handlers` says it of its API, beside its versions; `docs/access.md` is made from it.
Kafka's answers: a request is refused as a whole, or each row of it by itself, or what its client
may not see is left out.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from odradek.model.access import Operation, ResourceType
from odradek.model.errors import ErrorCode

REFUSALS: Final[Mapping[ResourceType, ErrorCode]] = {
    ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ResourceType.CLUSTER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ResourceType.TRANSACTIONAL_ID: ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
}
"""What a client is told that may not."""


class Whole(NamedTuple):
    """Decided before the request is served, and refused as a whole.

    A request that names nothing needs nothing here.
    """

    operation: Operation
    resource: ResourceType = ResourceType.CLUSTER
    named_by: str | None = None  # which field of the request names it; None: the cluster
    instead: Operation | None = None  # allowed to do this to the cluster, it may do it as well


class Each(NamedTuple):
    """Decided before the request is served; rows that are refused are answered beside the rest."""

    operation: Operation
    resource: ResourceType
    rows: str  # a field of the request
    named_by: str | None  # which field of a row names its resource; None: the row is the name
    answers: str  # the field of the response that has an answer for each row
    instead: Operation | None = None  # allowed to do this to the cluster, it may do it to each


class Served(NamedTuple):
    """Decided by the handler, which finds out what it is about."""

    operation: Operation
    resource: ResourceType
    otherwise: str  # what comes of it if it is not allowed


Need = Whole | Each | Served
NOTHING: Final[tuple[Need, ...]] = ()
"""It is served to every client."""
BROKERS_ALONE: Final[tuple[Need, ...]] = (Whole(Operation.CLUSTER_ACTION),)
"""What brokers ask each other."""
ADMIN_OPERATIONS: Final[tuple[Need, ...]] = (
    Served(Operation.DESCRIBE, ResourceType.CLUSTER, "an operation that describes is refused"),
    Served(Operation.ALTER, ResourceType.CLUSTER, "an operation that alters is refused"),
    Served(Operation.CLUSTER_ACTION, ResourceType.CLUSTER, "what a broker forwards is refused"),
)
"""What OdradekAdmin needs: `model.admin_operations` says it of each operation."""

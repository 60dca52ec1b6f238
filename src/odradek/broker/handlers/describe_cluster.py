"""DescribeCluster (key 60), versions 0 and 1.

Who is in the cluster, by the listener that the client came by. v1 asks for brokers or controllers;
there are no controllers apart from brokers.
"""

from typing import Final

from odradek.broker.access.authorizer import ALL_ON
from odradek.broker.access.need import Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_BROKER
from odradek.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS: Final = 1


class NoSuchEndpoints(BrokerError):
    """Controllers have no endpoints of their own."""

    code = ErrorCode.MISMATCHED_ENDPOINT_TYPE


def handle(services: Services, pending: PendingRequest, request: DescribeClusterRequest) -> None:
    """The brokers, and which of them is the controller."""
    if request.endpoint_type != BROKERS:
        raise NoSuchEndpoints("only brokers are described, no controllers of a quorum")
    image, brokers = services.cluster.image, []
    for broker in image.brokers.values():
        is_me = broker.id == services.broker_id
        at = services.socket_server.endpoint(pending.connection, broker, is_me=is_me)
        if at is not None:
            brokers.append(DescribeClusterBroker(broker.id, at.host, at.port, broker.rack))
    response = DescribeClusterResponse(
        cluster_id=services.cluster.cluster_id,
        controller_id=NO_BROKER if image.controller is None else image.controller,
        brokers=brokers,
    )
    if request.include_cluster_authorized_operations:
        access = services.access
        response.cluster_authorized_operations = (
            ALL_ON[ResourceType.CLUSTER]
            if access is None
            else access.operations_on_cluster(pending.connection)
        )
    pending.answer(response)


def refuse(
    request: DescribeClusterRequest, version: int, code: ErrorCode, message: str
) -> DescribeClusterResponse:
    """The code with its sentence."""
    del request, version
    return DescribeClusterResponse(error_code=code, error_message=message)


API: Final = Api(
    key=60,
    versions=range(2),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(Operation.DESCRIBE, ResourceType.CLUSTER, "no authorized operations of the cluster"),
    ),
)

"""Requests in the name of a replica: only brokers send them."""

from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode


class NotAmongBrokers(BrokerError):
    """A client says that it is a replica: it would move the high watermark by what it says."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def check_replica(services: Services, pending: PendingRequest) -> None:
    """Refuses a replica id of a client that is no broker; a broker has no limits.

    The right decides, where there is an authorizer; without one the listener.
    """
    client, listener = pending.connection, services.inter_broker_listener
    if services.access is not None:
        services.access.check_cluster(client, Operation.CLUSTER_ACTION)
    elif client.listener != listener:
        raise NotAmongBrokers(f"a replica id on listener {client.listener}; brokers use {listener}")
    pending.charge = None

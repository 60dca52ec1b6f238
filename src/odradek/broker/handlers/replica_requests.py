"""Requests in the name of a replica: only brokers send them, and by their own listener."""

from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.errors import BrokerError, ErrorCode


class NotAmongBrokers(BrokerError):
    """A client says that it is a replica: it would move the high watermark by what it says."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def check_replica_listener(services: Services, pending: PendingRequest) -> None:
    """Refuses a replica id that did not come by the inter-broker listener."""
    listener = services.inter_broker_listener
    if pending.connection.listener != listener:
        raise NotAmongBrokers(
            f"a replica id on listener {pending.connection.listener}; brokers use {listener}"
        )

"""Requests in the name of a replica: only brokers send them.

Without an authorizer who can reach a listener may do everything, and this as well: while a cluster
changes the listener of its brokers one by one, followers come by either.
"""

from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation


def check_replica(services: Services, pending: PendingRequest) -> None:
    """Refuses a replica id of a client that may not be a broker; a broker has no limits."""
    if services.access is not None:
        services.access.check_cluster(pending.connection, Operation.CLUSTER_ACTION)
    pending.charge = None

"""In which order brokers are restarted best: so that the controller moves once."""

from contextlib import suppress

from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import CONTROLLER_PLACEMENT
from odradek.model.errors import UnsupportedVersion


async def order_of(cluster: Cluster) -> list[int]:
    """The controller last, preferred brokers just before it."""
    answer = await cluster.refresh([])
    preferred: list[int] = []
    with suppress(UnsupportedVersion):  # of Kafka's brokers none is preferred
        preferred = (await operate(cluster, Wanted(CONTROLLER_PLACEMENT)))["preferred"]
    last = answer.controller_id
    brokers = (it.node_id for it in answer.brokers)
    return sorted(brokers, key=lambda it: (it == last, it in preferred, it))

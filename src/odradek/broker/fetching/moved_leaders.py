"""Where a partition is led now that is led here no more: its client need not ask (KIP-951)."""

from collections.abc import Iterable

from odradek.broker.fetching.partition_reading import Found
from odradek.metadata.image import ClusterImage
from odradek.model.ids import BrokerId
from odradek.wire.messages.fetch import LeaderIdAndEpoch, NodeEndpoint


def name_leader(image: ClusterImage, one: Found, moved: dict[BrokerId, None]) -> None:
    """Adds the leader to a row that is refused, if it is known, and to those that are named."""
    known = image.partition(one.slot.partition)
    if known is None or known.state is None or known.state.leader is None:
        return
    leader = known.state.leader
    one.row.current_leader = LeaderIdAndEpoch(leader, known.state.leader_epoch)
    moved[leader] = None


def endpoints(image: ClusterImage, moved: Iterable[BrokerId], listener: str) -> list[NodeEndpoint]:
    """Where these brokers are found by this listener."""
    found = []
    for number in moved:
        broker = image.brokers.get(number)
        at = None if broker is None else broker.endpoint(listener)
        if broker is not None and at is not None:
            found.append(NodeEndpoint(number, at.host, at.port, broker.rack))
    return found

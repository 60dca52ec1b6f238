"""Which replica a consumer should read from: one in its own rack, if the operator wants that.

KIP-392. The leader answers each fetch of such a consumer with the broker to ask instead, as long as
that replica is alive and holds the offset. Without `replica.selector.class` it is the leader.
"""

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.fetching.reader import Consumer
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.model.ids import BrokerId
from odradek.model.positions import Offset

RACK_AWARE = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


class ReplicaSelector:
    """Chooses by rack, or not at all."""

    def __init__(self, cluster: MetadataCache, class_name: str | None) -> None:
        self._cluster = cluster
        self._is_rack_aware = class_name == RACK_AWARE

    def select(self, led: LeadingReplica, offset: Offset, reader: Consumer) -> BrokerId | None:
        """The replica to read this offset from, if it is not this one."""
        if not self._is_rack_aware or not reader.rack or not reader.reads_from_followers:
            return None
        brokers = self._cluster.image.brokers
        me = brokers.get(self._cluster.me)
        if me is None or me.rack == reader.rack:
            return None
        offline = self._cluster.image.partition(led.partition)
        best: tuple[Offset, BrokerId] | None = None
        for broker, progress in led.leader.followers():
            end, start = progress.end_offset, progress.log_start_offset
            there = brokers.get(broker)
            if there is None or there.rack != reader.rack or end is None or end < offset:
                continue
            if (start is not None and start > offset) or (offline and broker in offline.offline):
                continue
            if best is None or end > best[0]:
                best = end, broker
        return best[1] if best else None

"""Brokers that have just gone, as clients are still told of them: Metadata lists them for a while.

librdkafka ends the thread of a broker that an answer does not list any more. That thread has yet
to hand its partitions over. Until it has, they count as without a leader, although the same answer
names their new ones, and the client looks again only a second later. Kafka lists a dead broker
until its session expires, so clients know how to live with one that refuses connections. No
partition names it as its leader, and DescribeCluster leaves it out at once.
"""

from typing import Final

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.metadata.image import ClusterImage
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND, Millis
from odradek.ports import Clock

LISTED_MS: Final = Millis(3 * SECOND)
"""A few round trips of any client, and short beside Kafka's 18 s."""


class DepartedBrokers:
    """Notes who leaves the image, and forgets each when its time is over or a next life begins."""

    def __init__(self, cluster: MetadataCache, clock: Clock) -> None:
        self._cluster = cluster
        self._clock = clock
        self._departed: dict[BrokerId, tuple[Broker, Millis]] = {}

    def listed(self) -> list[Broker]:
        """Those that an answer of this moment names beside the live ones.

        An address belongs to the broker that lives there now.
        """
        if not self._departed:
            return []
        now = self._clock.monotonic()
        self._departed = {it: found for it, found in self._departed.items() if now < found[1]}
        taken = {at for broker in self._cluster.image.brokers.values() for at in broker.endpoints}
        return [it for it, _ in self._departed.values() if taken.isdisjoint(it.endpoints)]

    def on_image(self, old: ClusterImage, new: ClusterImage) -> None:
        """Some may have gone, or be there again."""
        until = Millis(self._clock.monotonic() + LISTED_MS)
        for number, broker in old.brokers.items():
            if number not in new.brokers:
                self._departed[number] = (broker, until)
        for number in [it for it in self._departed if it in new.brokers]:
            del self._departed[number]

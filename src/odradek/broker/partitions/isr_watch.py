"""What time and the cluster's metadata tell the leaders of this broker about their followers.

Half of `replica.lag.time.max.ms` apart, each leader is told the time, and proposes an ISR without
the followers that have fallen behind for too long. A broker that is gone from the metadata cannot
join an ISR, so no high watermark waits for it any more.
"""

import asyncio
from typing import Final

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.settings import SettingsSource
from odradek.config.rows.replication import REPLICA_LAG_TIME_MAX_MS
from odradek.metadata.image import ClusterImage
from odradek.model.units import Millis
from odradek.ports import Clock

LEADERS_AT_ONCE: Final = 500
"""So many leaders are told the time in one turn of the loop."""


class IsrWatch:
    """Tells them."""

    def __init__(
        self,
        replicas: ReplicaManager,
        cluster: MetadataCache,
        settings: SettingsSource,
        clock: Clock,
    ) -> None:
        self._replicas = replicas
        self._settings = settings
        self._clock = clock
        cluster.watchers.append(self._on_metadata)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            pause = max(1, self._settings.broker[REPLICA_LAG_TIME_MAX_MS] // 2)
            await self._clock.sleep_until(Millis(self._clock.monotonic() + pause))
            for number, leading in enumerate(self._replicas.all_led()):
                if not leading.is_over:
                    leading.carry_out(leading.leader.on_time(self._clock.monotonic()))
                if number % LEADERS_AT_ONCE == LEADERS_AT_ONCE - 1:
                    await asyncio.sleep(0)

    def _on_metadata(self, old: ClusterImage, new: ClusterImage) -> None:
        if old.brokers is new.brokers:
            return
        gone = sorted(old.brokers.keys() - new.brokers.keys())
        came = [it for number, it in new.brokers.items() if it != old.brokers.get(number)]
        now = self._clock.monotonic()
        for leading in self._replicas.all_led() if gone or came else ():
            for broker in gone:
                leading.carry_out(leading.leader.on_ineligible(broker, now))
            for registered in came:
                effects = leading.leader.on_registered(registered.id, registered.epoch, now)
                leading.carry_out(effects)

"""One partition that this broker follows: its log takes what the leader sends.

What is fetched, from where, and how far the log is cut is decided by the follower's core, and
carried out by the fetcher of its leader (`fetching`). Here is the log as the fetcher uses it.
"""

from collections.abc import Callable

from odradek.broker.partitions.replicas.replica import Patience, Replica, Scheduler
from odradek.model.errors import BrokerError
from odradek.model.ids import BrokerId
from odradek.model.positions import LeaderEpoch, Offset
from odradek.ports import Clock
from odradek.replication.leadership import Leadership, check_leader_epoch
from odradek.storage.logs.log import PartitionLog

Done = Callable[[BrokerError | None], None]


class FollowingReplica(Replica):
    """A partition of which another broker is the leader, or none is."""

    __slots__ = ("is_over", "leader", "leadership")

    def __init__(
        self,
        log: PartitionLog,
        leader: BrokerId | None,
        leadership: Leadership,
        *,
        appends: Scheduler,
        clock: Clock,
    ) -> None:
        super().__init__(log, appends, clock)
        self.leader = leader
        self.leadership = leadership
        self.is_over = False  # it follows no more, or in another epoch

    def check_leader_epoch(self, leader_epoch: LeaderEpoch) -> None:
        """Refuses a request of another leader epoch."""
        check_leader_epoch(leader_epoch, self.leadership.leader_epoch)

    def append(self, run: memoryview, done: Done) -> None:
        """Takes whole batches as the leader sent them; raises what the log has against them.

        `done` is called once they are in the file, in a later turn of the loop.
        """
        end = self.log.append_replica(run, self._clock.wall())
        self.expect(_Told(done), 0, end)

    def on_high_watermark(self, high_watermark: Offset) -> None:
        """The leader's high watermark, as far as this log goes."""
        reached = min(high_watermark, self.log.log_end_offset)
        if reached > self.log.high_watermark:
            self.log.on_high_watermark(reached)
            if self.readers.told or self.readers.at_high_watermark:
                self.readers.on_high_watermark()


class _Told:
    """The fetcher that waits for its append."""

    __slots__ = ("_done",)

    def __init__(self, done: Done) -> None:
        self._done = done

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """Says so."""
        del place
        self._done(error)

    def on_stuck(self, place: int, patience: Patience) -> None:
        """It waits on: the fetcher asks for nothing more of this partition."""
        del place, patience

"""The leader of one partition, three brokers, and a clock that a test moves."""

from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch, Incarnation, LeaderEpoch, Offset, PartitionEpoch
from odradek.model.units import Millis
from odradek.replication.isr import (
    Isr,
    IsrAccepted,
    IsrProposal,
)
from odradek.replication.leader import Leader
from odradek.replication.leadership import LeaderEffects, LeaderSettings, Leadership, LogEnds
from odradek.replication.progress import FollowerFetch
from odradek.replication.waiters import Waiter

ME, B1, B2 = BrokerId(0), BrokerId(1), BrokerId(2)
LAG_MAX = 100


def members(*brokers: int) -> frozenset[BrokerId]:
    """A set of brokers."""
    return frozenset(map(BrokerId, brokers))


class Scene:
    """A leader with a clock that moves when the test says so."""

    def __init__(
        self,
        *,
        isr: tuple[int, ...] = (0, 1, 2),
        replicas: tuple[int, ...] = (0, 1, 2),
        end: int = 10,
        high_watermark: int = 10,
        min_isr: int = 1,
        eligible_min_isr: int = 0,
    ) -> None:
        self.now = Millis(1000)
        self.leader, self.begun = Leader.elected(
            ME,
            self.word(4, 7, replicas=replicas, isr=isr)._replace(eligible_min_isr=eligible_min_isr),
            LogEnds(Offset(end), Offset(high_watermark)),
            settings=LeaderSettings(Millis(LAG_MAX), min_isr),
            now=self.now,
        )

    def isr(self) -> Isr:
        """What is known of the ISR now."""
        return self.leader.isr

    def deadline(self) -> Millis | None:
        """When the leader wants to be asked again."""
        return self.leader.deadline(self.now)

    @staticmethod
    def word(
        leader_epoch: int,
        partition_epoch: int,
        *,
        isr: tuple[int, ...],
        replicas: tuple[int, ...] = (0, 1, 2),
    ) -> Leadership:
        """What a controller says."""
        return Leadership(
            LeaderEpoch(leader_epoch),
            PartitionEpoch(partition_epoch),
            tuple(map(BrokerId, replicas)),
            tuple(map(BrokerId, isr)),
        )

    def append(self, end: int) -> LeaderEffects:
        """The log grows."""
        return self.leader.on_append(Offset(end), self.now)

    def fetch(
        self,
        broker: int,
        offset: int,
        *,
        epoch: int | None = 4,
        eligible: bool = True,
        start: int | None = None,
        life: int | None = None,
        incarnation: int = 0,
    ) -> LeaderEffects:
        """A follower fetches; `life` is its broker epoch."""
        leader_epoch = None if epoch is None else LeaderEpoch(epoch)
        fetch = FollowerFetch(
            BrokerId(broker),
            Offset(offset),
            leader_epoch,
            eligible,
            BrokerEpoch(broker + 50 if life is None else life),
            None if start is None else Offset(start),
            Incarnation(incarnation),
        )
        return self.leader.on_follower_fetch(fetch, self.now)

    def pass_time(self, millis: int) -> LeaderEffects:
        """Time passes."""
        self.now = Millis(self.now + millis)
        return self.leader.on_time(self.now)

    def answer(
        self, proposal: IsrProposal | None, answer: IsrAccepted | ErrorCode
    ) -> LeaderEffects:
        """The controller answers."""
        assert proposal is not None
        return self.leader.on_isr_answer(proposal, answer, self.now)

    def produce(self, end: int) -> Waiter:
        """A producer waits for all below an end."""
        waiter = self.leader.await_commit(Offset(end), f"up to {end}")
        assert isinstance(waiter, Waiter)
        return waiter


def accepted(
    isr: tuple[int, ...], *, leader_epoch: int = 4, partition_epoch: int = 8
) -> IsrAccepted:
    """The controller's yes."""
    return IsrAccepted(
        LeaderEpoch(leader_epoch), PartitionEpoch(partition_epoch), tuple(map(BrokerId, isr))
    )

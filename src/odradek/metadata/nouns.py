"""What a cluster consists of, as immutable values: brokers, assignments, states of partitions."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.config.listeners import SecurityProtocol
from odradek.model.ids import BrokerId, TopicId
from odradek.model.positions import (
    FIRST_INCARNATION,
    NO_BROKER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
    Incarnation,
    LeaderEpoch,
    PartitionEpoch,
)


class Endpoint(NamedTuple):
    """One listener of a broker, as it is advertised."""

    listener: str
    host: str
    port: int
    protocol: SecurityProtocol


class VersionRange(NamedTuple):
    """The versions of a feature that a broker supports, both ends included."""

    low: int
    high: int


class BrokerMark(NamedTuple):
    """What our brokers add to their registration, and Kafka's ignore.

    A broker that carries it registers again if its registration is deleted while it lives, so one
    whose process is known to be gone may be struck before its session expires. The addresses that
    it has bound tell a former life of a broker from another broker of the same number. A preferred
    broker shall be the controller while it can. Releases before transactions know their level 0.
    """

    host: str
    bound: tuple[str, ...]
    is_preferred: bool = False
    transaction_version: int = 0

    def is_of(self, other: "BrokerMark") -> bool:
        """Whether both were made by processes on the same host, with the same addresses."""
        return (self.host, self.bound) == (other.host, other.bound)


class Broker(NamedTuple):
    """A registered broker: one life of it."""

    id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None
    epoch: BrokerEpoch = NO_BROKER_EPOCH
    features: tuple[tuple[str, VersionRange], ...] = ()
    mark: BrokerMark | None = None

    def endpoint(self, listener: str) -> Endpoint | None:
        """Where it is found on a listener, if it has one of this name."""
        return next((at for at in self.endpoints if at.listener == listener), None)

    @property
    def is_preferred(self) -> bool:
        """Whether it shall be the controller while it can."""
        return self.mark is not None and self.mark.is_preferred


class Assignment(NamedTuple):
    """The brokers that shall hold a partition; the first is its preferred leader.

    While it is being reassigned, `replicas` are the old and the new ones together.
    """

    replicas: tuple[BrokerId, ...]
    adding: tuple[BrokerId, ...] = ()
    removing: tuple[BrokerId, ...] = ()

    @property
    def target(self) -> tuple[BrokerId, ...]:
        """The replicas once the reassignment is over; all of them where there is none."""
        return tuple(replica for replica in self.replicas if replica not in self.removing)

    @property
    def origin(self) -> tuple[BrokerId, ...]:
        """The replicas before the reassignment; all of them where there is none."""
        return tuple(replica for replica in self.replicas if replica not in self.adding)

    @property
    def is_reassigning(self) -> bool:
        """Whether replicas are being added or removed."""
        return bool(self.adding or self.removing)

    def reassigned_to(self, target: tuple[BrokerId, ...]) -> "Assignment":
        """On the way to these replicas: they come first, what is left of the origin behind them."""
        origin = self.origin
        full = tuple(dict.fromkeys((*target, *origin)))
        return Assignment(
            full,
            tuple(it for it in full if it not in origin),
            tuple(it for it in full if it not in target),
        )


class PartitionState(NamedTuple):
    """Who leads a partition and who is in sync: the contents of its state znode, and its version.

    `controller_epoch` is that of the controller that last decided on the leadership. `eligible` are
    those who left the ISR while it was smaller than `eligible_min_isr`: the leader of this state
    commits nothing before the ISR has that size again, so they have everything, and may lead when
    no member of the ISR can (KIP-966).
    """

    leader: BrokerId | None
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    partition_epoch: PartitionEpoch
    controller_epoch: ControllerEpoch
    recovering: bool = False  # the leader was elected from outside the ISR (KIP-704)
    eligible: tuple[BrokerId, ...] = ()
    eligible_min_isr: int = 0  # where some are eligible: larger than the ISR
    incarnations: tuple[tuple[BrokerId, Incarnation], ...] = ()
    """Of the members' logs, as they were when they joined; those that never lost anything left out.

    A log that has lost something since is in another one: it is no member by this state."""

    def incarnation_of(self, broker: BrokerId) -> Incarnation:
        """As which its log is a member."""
        return dict(self.incarnations).get(broker, FIRST_INCARNATION)


class TopicAssignment(NamedTuple):
    """A topic as its znode has it; one from before Kafka 2.8 has no id."""

    partitions: Mapping[int, Assignment]
    topic_id: TopicId | None = None

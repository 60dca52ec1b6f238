"""What a cluster consists of, as immutable values: brokers, assignments, states of partitions."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.config.listeners import SecurityProtocol
from odradek.model.ids import BrokerId, TopicId
from odradek.model.positions import (
    NO_BROKER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
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
    it has bound tell a former life of a broker from another broker of the same number.
    """

    host: str
    bound: tuple[str, ...]


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


class PartitionState(NamedTuple):
    """Who leads a partition and who is in sync: the contents of its state znode, and its version.

    `controller_epoch` is that of the controller that last decided on the leadership.
    """

    leader: BrokerId | None
    leader_epoch: LeaderEpoch
    isr: tuple[BrokerId, ...]
    partition_epoch: PartitionEpoch
    controller_epoch: ControllerEpoch
    recovering: bool = False  # the leader was elected from outside the ISR (KIP-704)


class TopicAssignment(NamedTuple):
    """A topic as its znode has it; one from before Kafka 2.8 has no id."""

    partitions: Mapping[int, Assignment]
    topic_id: TopicId | None = None

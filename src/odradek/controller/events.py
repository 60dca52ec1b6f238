"""What can happen to the controller: the events of its queue.

Watches, the network and time post them; one is dealt with at a time. Those with an answer say in
their docstring what it is.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from odradek.controller.topics import Growth, NewTopic
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch
from odradek.wire.messages.alter_partition import AlterPartitionRequest
from odradek.wire.schema import Request, Response


class ControllerChanged(NamedTuple):
    """/controller may name another; or the process of the one that it names is known to be gone."""

    gone: BrokerId | None = None


class TreeChanged(NamedTuple):
    """The tree has changed at these paths, or may have."""

    paths: frozenset[str]


class WishChanged(NamedTuple):
    """/admin/next_controller or /admin/ready_to_serve has changed, or may have."""


class WishIsDue(NamedTuple):
    """A wish has had its time."""

    wish: str


class StopAsked(NamedTuple):
    """This broker stops, and another shall be the controller; answered with that one's wish."""


class PreferenceIsDue(NamedTuple):
    """It is time to look whether a preferred broker should be the controller."""


class BeginningGoesOn(NamedTuple):
    """What a controller that was handed everything has left for later."""


class BrokerAnswered(NamedTuple):
    """A broker has answered LeaderAndIsr, UpdateMetadata or StopReplica, in this life of it."""

    broker: BrokerId
    epoch: BrokerEpoch
    request: Request
    response: Response


class ProcessIsGone(NamedTuple):
    """A broker's process is no more: its connection ended, and a new one was refused."""

    broker: BrokerId
    epoch: BrokerEpoch


class AlterPartitionAsked(NamedTuple):
    """A leader asks for another ISR; answered with AlterPartitionResponse."""

    request: AlterPartitionRequest
    version: int


class ControlledShutdownAsked(NamedTuple):
    """A broker wants to go; answered with the partitions that it still leads."""

    broker: BrokerId
    epoch: BrokerEpoch


class CreationAsked(NamedTuple):
    """Topics are to be made; answered with how each was made, or why not."""

    topics: Sequence[NewTopic]
    validate_only: bool = False


class GrowthAsked(NamedTuple):
    """A topic is to have more partitions; answered with None, or why not."""

    growth: Growth
    validate_only: bool = False


class DeletionAsked(NamedTuple):
    """Topics are to be deleted; answered with None for each, or why not."""

    names: Sequence[str]


class ReassignmentAsked(NamedTuple):
    """Partitions are to move, None cancels; answered with None for each, or why not."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]


class ReassignmentsListed(NamedTuple):
    """Which partitions are being moved, of these or of all; answered with their assignments."""

    partitions: Sequence[TopicPartition] | None


class HealthAsked(NamedTuple):
    """What is wrong, and why; answered with an object for the operator."""


class DescriptionAsked(NamedTuple):
    """What the controller has to do; answered with an object for the operator."""


class ElectionType(Enum):
    """What an operator may ask for; the values are those of the wire."""

    PREFERRED = 0
    UNCLEAN = 1


class ElectionAsked(NamedTuple):
    """Leaders of these partitions, or of all, are to be elected; answered with why not, of each."""

    kind: ElectionType
    partitions: Sequence[TopicPartition] | None
    is_forced: bool = False  # uncleanly also where a broker that may have everything is alive


class ProducerIdsAsked(NamedTuple):
    """A broker needs producer ids; answered with a block of them."""

    broker: BrokerId
    epoch: BrokerEpoch


class SettingsChanged(NamedTuple):
    """Settings of a topic, or of all, have changed: partitions may find a leader now."""

    topic: str | None


class RebalanceIsDue(NamedTuple):
    """It is time to look how many preferred leaderships are elsewhere."""


class RetryIsDue(NamedTuple):
    """It is time to try again what brokers or ZooKeeper could not do, though they are alive."""


Event = (
    ControllerChanged
    | TreeChanged
    | WishChanged
    | WishIsDue
    | StopAsked
    | PreferenceIsDue
    | BeginningGoesOn
    | BrokerAnswered
    | ProcessIsGone
    | AlterPartitionAsked
    | ControlledShutdownAsked
    | CreationAsked
    | GrowthAsked
    | DeletionAsked
    | ReassignmentAsked
    | ReassignmentsListed
    | HealthAsked
    | DescriptionAsked
    | ElectionAsked
    | ProducerIdsAsked
    | SettingsChanged
    | RebalanceIsDue
    | RetryIsDue
)

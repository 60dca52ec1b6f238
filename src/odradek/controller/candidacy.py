"""How a broker becomes the controller: one multi, and a look back where its answer was lost.

The multi creates /controller, which is ephemeral, and raises /controller_epoch, both or neither.
The epoch's version guards everything that the winner writes; the next one to raise it
ends this controller's right to act, whatever that one still believes.

    read both ──no controller──▶ bid ──it happened──▶ Won
        │                     ├──somebody was there, or raised the epoch──▶ read both again ──▶ Lost
        └──somebody is──▶ Lost└──no answer──▶ read both again ──both are as we bid──▶ Won

A controller that is known to be dead is not waited for: the multi deletes its node first. It is
still all or nothing, and the epoch is read before the node, so a successor that was elected
meanwhile has raised the epoch and is left alone. A controller that has handed over is replaced in
the same way, and the multi deletes the wish in the version in which it was handed over: a
controller that takes the wish back and a broker that replaces it cannot both succeed.
"""

from typing import Final, NamedTuple

from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.controller import NextControllerZnode
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch
from odradek.model.units import Timestamp
from odradek.zookeeper.protocol.codes import CreateMode
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Create, Delete, Multi, SetData

FIRST_EPOCH: Final = ControllerEpoch(0)
"""What /controller_epoch is made with; the first controller raises it."""


class ControllerLease(NamedTuple):
    """The right to act as the controller, for as long as the epoch's znode has this version."""

    epoch: ControllerEpoch
    epoch_version: int


class Bid(NamedTuple):
    """A try to become the controller, and what it would be if it succeeded."""

    broker: BrokerId
    multi: Multi
    lease: ControllerLease


class Lost(NamedTuple):
    """Another broker is the controller; None: there is none any more, so one may bid again."""

    controller: BrokerId | None


def epoch_creation() -> Create:
    """Makes /controller_epoch in a new cluster. That it exists already is no failure."""
    return Create(ControllerEpochZnode.PATH, ControllerEpochZnode.encode(FIRST_EPOCH), OPEN_ACL)


def decide_bid(broker: BrokerId, epoch: Data, now: Timestamp) -> Bid:
    """Where there is no controller."""
    current = ControllerEpochZnode.decode(epoch.data)
    lease = ControllerLease(ControllerEpoch(current + 1), epoch.stat.version + 1)
    return Bid(broker, Multi(_writes(broker, lease, now)), lease)


def decide_takeover(
    broker: BrokerId, controller: Data, epoch: Data, now: Timestamp, *, wish: Data | None = None
) -> Bid:
    """Replaces a controller that is known to be dead, or has handed over in this very wish.

    The epoch was read before its node.
    """
    current = ControllerEpochZnode.decode(epoch.data)
    lease = ControllerLease(ControllerEpoch(current + 1), epoch.stat.version + 1)
    gone = Delete(ControllerZnode.PATH, controller.stat.version)
    fulfilled = () if wish is None else (Delete(NextControllerZnode.PATH, wish.stat.version),)
    return Bid(broker, Multi((*fulfilled, gone, *_writes(broker, lease, now))), lease)


def _writes(broker: BrokerId, lease: ControllerLease, now: Timestamp) -> tuple[Create, SetData]:
    epoch = ControllerEpochZnode.encode(lease.epoch)
    return (
        Create(
            ControllerZnode.PATH,
            ControllerZnode.encode(broker, now),
            OPEN_ACL,
            CreateMode.EPHEMERAL,
        ),
        SetData(ControllerEpochZnode.PATH, epoch, lease.epoch_version - 1),
    )


def decide_outcome(
    bid: Bid, controller: Data | None, epoch: Data, *, session_id: int
) -> ControllerLease | Lost:
    """What became of a bid that failed or was not answered, from both znodes as they are now.

    The ephemeral must be of our present session: one of an earlier session will soon be gone.
    """
    if controller is None:
        return Lost(None)
    elected = ControllerZnode.decode(controller.data)
    ours = elected == bid.broker and controller.stat.ephemeral_owner == session_id
    current = ControllerLease(ControllerEpochZnode.decode(epoch.data), epoch.stat.version)
    if ours and current == bid.lease:
        return bid.lease
    return Lost(elected)

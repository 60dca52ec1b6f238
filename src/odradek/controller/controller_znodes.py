"""Who is the controller, who shall be, and who is ready for it: four znodes, read together.

The epoch is read first: whatever is bound to it and was read behind it is of that epoch or later.
All four are watched. A znode that makes no sense counts as one that is not there; its fault is kept
for the one that may delete it.
"""

from typing import NamedTuple

from odradek.controller.steps import Steps, read
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.controller import (
    NextControllerZnode,
    Readiness,
    ReadyToServeZnode,
    Wish,
)
from odradek.model.ids import BrokerId
from odradek.model.positions import ControllerEpoch
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Exists, GetData


class ControllerZnodes(NamedTuple):
    """The four znodes, each None where it is not there."""

    epoch: Data | None
    controller: Data | None
    wish: Data | None
    ready: Data | None

    @property
    def current_epoch(self) -> ControllerEpoch:
        """That of the present controller, or of the last; a MalformedZnode says that it is none."""
        return ControllerEpochZnode.decode(None if self.epoch is None else self.epoch.data)

    @property
    def elected(self) -> BrokerId | None:
        """Whom /controller names; a MalformedZnode says that it names no broker."""
        return None if self.controller is None else ControllerZnode.decode(self.controller.data)

    @property
    def wished(self) -> Wish | None:
        """The wish, if there is one that makes sense."""
        try:
            return None if self.wish is None else NextControllerZnode.decode(self.wish.data)
        except MalformedZnode:
            return None

    @property
    def readiness(self) -> Readiness | None:
        """Who is ready, if that makes sense."""
        try:
            return None if self.ready is None else ReadyToServeZnode.decode(self.ready.data)
        except MalformedZnode:
            return None

    def is_handed_over_to(self, broker: BrokerId) -> bool:
        """Whether the present controller waits for this broker to replace it."""
        wish = self.wished
        return (
            wish is not None
            and wish.is_handed_over
            and wish.broker == broker
            and wish.epoch == self.current_epoch
        )


def read_controller_znodes() -> Steps[ControllerZnodes]:
    """As it is now."""
    watched = (ControllerZnode.PATH, NextControllerZnode.PATH, ReadyToServeZnode.PATH)
    answers = yield from read(
        GetData(ControllerEpochZnode.PATH, watch=True),
        *(
            request
            for path in watched
            for request in (Exists(path, watch=True), GetData(path, watch=False))
        ),
    )
    return ControllerZnodes(*(it if isinstance(it, Data) else None for it in answers[::2]))

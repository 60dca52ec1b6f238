"""What operators ask about the controller's place, of any broker: a wish, and what is so.

A wish is a znode, so it is made without the controller, and outlives the broker that was asked. It
is bound to the controller epoch as it stands when it is made. What became of it stands in the
history; if it does not, another wish has replaced it.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, TypeVar

from odradek.broker.control.controller_policy import ControllerPolicy
from odradek.controller.controller_znodes import ControllerZnodes, read_controller_znodes
from odradek.controller.decisions.campaign import read_preferred
from odradek.controller.decisions.history import read_history
from odradek.controller.steps import Attempt, Read, Steps
from odradek.ensemble.client import ZooKeeperClient
from odradek.metadata.json_body import Json, MalformedZnode
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode
from odradek.metadata.znodes.controller import NextControllerZnode, Wish
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.moments import moment_text
from odradek.zookeeper.client.errors import BadVersion, MultiFailed, NodeExists, NoNode
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Check, Create, GetData, Multi, SetData, WriteOp

R = TypeVar("R")
PATIENCE_SECONDS: Final = 2.0
TRIES_MAX: Final = 10
"""How often another operator, or an election, may have been faster."""


class CannotMove(BrokerError):
    """The controller cannot be moved there, or not now."""

    code = ErrorCode.INVALID_REQUEST


class ZooKeeperAway(BrokerError):
    """What stands in ZooKeeper cannot be told now. It is not asked for again: that may last."""

    code = ErrorCode.BROKER_NOT_AVAILABLE


class ControllerAdmin:
    """Of one broker. It decides nothing."""

    def __init__(self, client: ZooKeeperClient, policy: ControllerPolicy) -> None:
        self._client = client
        self._policy = policy

    async def wish(self, broker: BrokerId, why: str) -> Wish:
        """The controller shall be there; the wish as it was made, or a BrokerError."""
        for _ in range(TRIES_MAX):
            znodes = await self._take(read_controller_znodes())
            wish = await self._checked(znodes, broker, why)
            answer = (await self._client.batch([_written(znodes, wish)]))[0]
            if not isinstance(answer, KeeperError):
                return wish
            if not isinstance(answer, MultiFailed):
                raise CannotMove(f"ZooKeeper: {answer}")
            if not isinstance(answer.cause, BadVersion | NodeExists | NoNode):
                raise CannotMove(f"ZooKeeper: {answer}")
        raise CannotMove("others move the controller all the time")

    async def _checked(self, znodes: ControllerZnodes, broker: BrokerId, why: str) -> Wish:
        """What the present controller could not refuse itself."""
        try:
            elected, epoch = znodes.elected, znodes.current_epoch
        except MalformedZnode as fault:
            raise CannotMove(str(fault)) from fault
        if elected is None:
            raise CannotMove(
                "there is no controller that could hand over; a broker becomes it by itself once "
                "it is preferred"
            )
        if elected == broker:
            raise CannotMove(f"broker {broker} is the controller already")
        if not await self._is_ours(elected):
            raise CannotMove(
                f"broker {elected}, the controller, is not one of ours: it does not hand over"
            )
        number = self._policy.random.below(1 << 48)
        return Wish(f"{epoch}-{number:012x}", broker, epoch, why)

    async def _is_ours(self, broker: BrokerId) -> bool:
        (found,) = await self._client.batch([GetData(BrokerZnode.path(broker))])
        try:
            data = found.data if isinstance(found, Data) else None
            return BrokerZnode.decode(broker, data).mark is not None
        except MalformedZnode:
            return False

    async def placement(self) -> Mapping[str, Json]:
        """Where the controller is and shall be, and where it was."""
        znodes = await self._take(read_controller_znodes())
        history, _ = await self._take(read_history())
        preferred = await self._take(read_preferred())
        wish, ready = znodes.wished, znodes.readiness
        return {
            "controller": _elected(znodes),
            "preferred": list(preferred),
            "fallback": self._policy.has_fallback,
            "wish": None
            if wish is None
            else {
                "id": wish.id,
                "broker": wish.broker,
                "epoch": wish.epoch,
                "why": wish.why,
                "handed_over": wish.is_handed_over,
            },
            "ready": None if ready is None else ready.broker,
            "controllers": [
                {
                    "broker": it.broker,
                    "epoch": it.epoch,
                    "since": it.since,
                    "until": it.until,
                    "why": it.why,
                }
                for it in history.controllers
            ],
            "wishes": [
                {"id": it.id, "broker": it.broker, "at": it.at, "refusal": it.refusal}
                for it in history.wishes
            ],
        }

    async def _connected(self) -> None:
        """Another server of the ensemble is found within this time, if there is one."""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._client.connected()
        except (TimeoutError, KeeperError) as error:
            since = self._client.away_since
            when = "" if since is None else f", since {moment_text(since)}"
            raise ZooKeeperAway(f"this broker has no connection to ZooKeeper{when}") from error

    async def _take(self, steps: Steps[R]) -> R:
        """Reads only; what a decision notes on the way is not repeated for each who asks."""
        await self._connected()
        outcome: Any = None
        while True:
            try:
                step = steps.send(outcome)
            except StopIteration as end:
                result: R = end.value
                return result
            outcome = None
            if isinstance(step, Read):
                outcome = await self._client.batch(step.requests)
            assert not isinstance(step, Attempt), step


def _elected(znodes: ControllerZnodes) -> BrokerId | None:
    try:
        return znodes.elected
    except MalformedZnode:
        return None


def _written(znodes: ControllerZnodes, wish: Wish) -> Multi:
    """Replaces the wish that stands, if the epoch is still the same."""
    assert znodes.epoch is not None, "there is a controller, so there is an epoch"
    data = NextControllerZnode.encode(wish)
    write: WriteOp = Create(NextControllerZnode.PATH, data, OPEN_ACL)
    if znodes.wish is not None:
        write = SetData(NextControllerZnode.PATH, data, znodes.wish.stat.version)
    return Multi((Check(ControllerEpochZnode.PATH, znodes.epoch.stat.version), write))

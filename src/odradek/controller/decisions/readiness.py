"""A broker gets ready to be the controller, and says so, because somebody wishes for it (KIP-39).

    wished for, in the present epoch ──▶ loads the image ──▶ /admin/ready_to_serve ──▶ handed over
                                                                  │                       ▼
                        the wish is gone, or another's ◀──────────┘        replaces the controller

What it says is ephemeral, and holds for one wish: it is made only if the wish and the epoch are
what they were when it began to load.
"""

from typing import NamedTuple

from odradek.controller.controller_znodes import ControllerZnodes, read_controller_znodes
from odradek.controller.decisions.campaign import Candidate
from odradek.controller.steps import Attempt, Note, Steps
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode
from odradek.metadata.znodes.controller import (
    NextControllerZnode,
    Readiness,
    ReadyToServeZnode,
    Wish,
)
from odradek.zookeeper.protocol.codes import CreateMode, KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_requests import Check, Create, Delete, Multi, WriteOp


class GetReady(NamedTuple):
    """The image is to be loaded for this wish, then everybody is told."""

    wish: Wish
    znodes: ControllerZnodes


class SayReady(NamedTuple):
    """The image is loaded; everybody is to be told."""

    wish: Wish
    znodes: ControllerZnodes


class TakeOver(NamedTuple):
    """The controller waits to be replaced."""


class GiveUp(NamedTuple):
    """This broker is not wished for any more."""


def decide_part(
    candidate: Candidate, znodes: ControllerZnodes, loaded_for: str | None
) -> GetReady | SayReady | TakeOver | GiveUp | None:
    """What a broker that is not the controller has to do about the wish; None: nothing."""
    wish, session = znodes.wished, candidate.session_id
    says_so = znodes.ready is not None and znodes.ready.stat.ephemeral_owner == session
    is_named = wish is not None and wish.broker == candidate.broker
    is_mine = is_named and candidate.standing.is_eligible
    if wish is None or not is_mine or wish.epoch != _epoch(znodes):
        return GiveUp() if loaded_for is not None or says_so else None
    if wish.id != loaded_for:
        return None if wish.is_handed_over else GetReady(wish, znodes)
    if wish.is_handed_over:
        return TakeOver()
    return None if says_so and znodes.readiness == _readiness(wish) else SayReady(wish, znodes)


def _epoch(znodes: ControllerZnodes) -> int:
    try:
        return znodes.current_epoch
    except MalformedZnode:
        return -1


def _readiness(wish: Wish) -> Readiness:
    return Readiness(wish.broker, wish.id, wish.epoch)


def say_ready(wish: Wish, znodes: ControllerZnodes) -> Steps[None]:
    """If nothing has changed since the znodes were read; if something has, a watch tells."""
    assert znodes.wish is not None, wish
    assert znodes.epoch is not None, wish
    before = (yield from read_controller_znodes()).ready
    ops: list[WriteOp] = [
        Check(NextControllerZnode.PATH, znodes.wish.stat.version),
        Check(ControllerEpochZnode.PATH, znodes.epoch.stat.version),
    ]
    if before is not None:
        ops.append(Delete(ReadyToServeZnode.PATH, before.stat.version))
    data = ReadyToServeZnode.encode(_readiness(wish))
    ops.append(Create(ReadyToServeZnode.PATH, data, OPEN_ACL, CreateMode.EPHEMERAL))
    answer = yield Attempt(Multi(tuple(ops)))
    if isinstance(answer, KeeperError):
        yield Note("controller.not_ready", {"wish": wish.id, "reason": str(answer)})
    else:
        yield Note("controller.ready_to_serve", {"wish": wish.id, "epoch": wish.epoch})


def say_no_more(session_id: int) -> Steps[None]:
    """Removes what this session has said."""
    ready = (yield from read_controller_znodes()).ready
    if ready is not None and ready.stat.ephemeral_owner == session_id:
        yield Attempt(Multi((Delete(ReadyToServeZnode.PATH, ready.stat.version),)))

"""Who was the controller, and what became of wishes: kept for people, never decided by.

A history that makes no sense begins anew. A write that fails costs an entry and nothing else.
"""

from odradek.controller.context import ControllerContext
from odradek.controller.steps import Note, Steps, commit, read
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.controller import (
    ControllerHistory,
    ControllerHistoryZnode,
    PastController,
    PastWish,
    Wish,
)
from odradek.zookeeper.client.errors import MultiFailed
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Create, GetData, Multi, SetData


def read_history() -> Steps[tuple[ControllerHistory, int | None]]:
    """With its version; None: there is none."""
    (found,) = yield from read(GetData(ControllerHistoryZnode.PATH, watch=False))
    if not isinstance(found, Data):
        return ControllerHistory(), None
    try:
        return ControllerHistoryZnode.decode(found.data), found.stat.version
    except MalformedZnode as fault:
        yield Note("controller.znode_ignored", {"fault": str(fault)})
        return ControllerHistory(), found.stat.version


def ended(wish: PastWish) -> Steps[SetData | Create]:
    """What writes the outcome of a wish, to be done together with its end."""
    history, version = yield from read_history()
    return _write(history.ended(wish), version)


def record_election(context: ControllerContext, why: str, wish: Wish | None) -> Steps[None]:
    """This controller has begun, perhaps because it was wished for."""
    history, version = yield from read_history()
    now = PastController(context.me, context.lease.epoch, context.now, None, why)
    history = history.elected(now)
    if wish is not None:
        history = history.ended(PastWish(wish.id, wish.broker, context.now, ""))
    (answer,) = yield from commit(Multi((_write(history, version),)))
    if isinstance(answer, KeeperError):
        yield Note("controller.history_not_written", {"reason": str(answer)})


def _write(history: ControllerHistory, version: int | None) -> SetData | Create:
    data = ControllerHistoryZnode.encode(history)
    if version is None:
        return Create(ControllerHistoryZnode.PATH, data, OPEN_ACL)
    return SetData(ControllerHistoryZnode.PATH, data, version)


def unwritten(answer: KeeperError, at: int) -> bool:
    """Whether this operation of a multi was the reason that it failed."""
    return isinstance(answer, MultiFailed) and answer.index == at

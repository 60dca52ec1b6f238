"""A broker competes for /controller, and gives it up.

Whatever stands in the two znodes and makes no sense is named by its path and left alone: then
no broker can be elected until an operator mends it, and brokers go on without a controller.
"""

from typing import Final, NamedTuple

from odradek.controller.candidacy import (
    ControllerLease,
    Lost,
    decide_bid,
    decide_outcome,
    decide_takeover,
    epoch_creation,
)
from odradek.controller.steps import Attempt, Note, Steps, read
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.model.ids import BrokerId
from odradek.model.units import Timestamp
from odradek.zookeeper.client.errors import (
    BadVersion,
    MultiFailed,
    NodeExists,
    NoNode,
    OutcomeUnknown,
)
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Check, Delete, Exists, GetData, Multi

ROUNDS_MAX: Final = 10
"""How often another may come and go while we look."""


class Won(NamedTuple):
    """The lease, and the session of the controller that was replaced, if one was."""

    lease: ControllerLease
    replaced_session: int = 0


class Candidate(NamedTuple):
    """Who competes, and whom it knows to be dead."""

    broker: BrokerId
    session_id: int
    now: Timestamp
    gone: BrokerId | None = None


def campaign(candidate: Candidate) -> Steps[Won | Lost]:
    """Won, or who is the controller instead; None if that is unknown."""
    for _ in range(ROUNDS_MAX):
        controller, epoch = yield from read_both()
        if epoch is None:
            yield Attempt(Multi((epoch_creation(),)))
            continue
        try:
            outcome = yield from _compete(candidate, controller, epoch)
        except MalformedZnode as fault:
            yield Note("controller.znode_ignored", {"fault": str(fault)})
            return Lost(None)
        if isinstance(outcome, Won) or outcome.controller is not None:
            return outcome
    return Lost(None)


def _compete(candidate: Candidate, controller: Data | None, epoch: Data) -> Steps[Won | Lost]:
    me, now = candidate.broker, candidate.now
    elected = None if controller is None else ControllerZnode.decode(controller.data)
    replaced = 0
    if controller is not None and _is_over(candidate, controller, elected):
        replaced = controller.stat.ephemeral_owner
        bid = decide_takeover(me, controller, epoch, now)
    else:
        decided = decide_bid(me, controller, epoch, now)
        if isinstance(decided, Lost):
            return decided
        bid = decided
    answer = yield Attempt(bid.multi)
    if not isinstance(answer, KeeperError):
        return Won(bid.lease, replaced)
    controller, now_epoch = yield from read_both()
    if now_epoch is None:
        return Lost(None)
    if _is_refused(answer):
        yield Note("controller.election_failed", {"reason": str(answer)})
    outcome = decide_outcome(bid, controller, now_epoch, session_id=candidate.session_id)
    return Won(outcome, replaced) if isinstance(outcome, ControllerLease) else outcome


def _is_refused(answer: KeeperError) -> bool:
    """Whether ZooKeeper has a reason of its own: no other broker was faster."""
    raced = BadVersion | NodeExists | NoNode
    if isinstance(answer, MultiFailed):
        return not isinstance(answer.cause, raced)
    return not isinstance(answer, OutcomeUnknown)


def _is_over(candidate: Candidate, controller: Data, elected: BrokerId | None) -> bool:
    """The node of a former life of ours, or of a broker that is known to be dead."""
    if controller.stat.ephemeral_owner == candidate.session_id:
        return True  # we resigned, and could not say so
    return elected in {candidate.broker, candidate.gone}


def read_both() -> Steps[tuple[Data | None, Data | None]]:
    """The two znodes, both watched, the epoch read first."""
    epoch, _, controller = yield from read(
        GetData(ControllerEpochZnode.PATH, watch=True),
        Exists(ControllerZnode.PATH, watch=True),
        GetData(ControllerZnode.PATH, watch=False),
    )
    return (
        controller if isinstance(controller, Data) else None,
        epoch if isinstance(epoch, Data) else None,
    )


def step_down(session_id: int) -> Steps[None]:
    """Removes our own ephemeral. The epoch tells it from that of a successor."""
    controller, epoch = yield from read_both()
    if controller is None or epoch is None or controller.stat.ephemeral_owner != session_id:
        return
    guard = Check(ControllerEpochZnode.PATH, epoch.stat.version)
    delete = Delete(ControllerZnode.PATH, controller.stat.version)
    yield Attempt(Multi((guard, delete)))


def still_holds(lease: ControllerLease, session_id: int) -> Steps[bool]:
    """Whether this session is the controller as before: it was perhaps only cut off for a while."""
    controller, epoch = yield from read_both()
    return (
        controller is not None
        and controller.stat.ephemeral_owner == session_id
        and epoch is not None
        and epoch.stat.version == lease.epoch_version
    )

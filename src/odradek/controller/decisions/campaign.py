"""A broker competes for /controller, or leaves it to another, and gives it up.

Whatever stands in the two znodes and makes no sense is named by its path and left alone: then
no broker can be elected until an operator mends it, and brokers go on without a controller.
"""

from contextlib import suppress
from typing import Final, NamedTuple

from odradek.controller.candidacy import (
    ControllerLease,
    Lost,
    decide_bid,
    decide_outcome,
    decide_takeover,
    epoch_creation,
)
from odradek.controller.controller_znodes import ControllerZnodes, read_controller_znodes
from odradek.controller.standing import (
    Abstains,
    Standing,
    abstains_for_preferred,
    abstains_for_ready,
)
from odradek.controller.steps import Attempt, Note, Steps, read
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.broker import BrokerIdsZnode, BrokerZnode
from odradek.metadata.znodes.cluster import ControllerEpochZnode, ControllerZnode
from odradek.metadata.znodes.controller import Wish
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
from odradek.zookeeper.protocol.jute_replies import Children2, Data, StatReply
from odradek.zookeeper.protocol.jute_requests import (
    Check,
    Delete,
    Exists,
    GetChildren2,
    GetData,
    Multi,
)

ROUNDS_MAX: Final = 10
"""How often another may come and go while we look."""


class Won(NamedTuple):
    """The lease; whose process is gone and was replaced, if any; and why it came to that.

    `wish` is what a controller handed over; without it the new one finds out everything itself.
    """

    lease: ControllerLease
    replaced: tuple[BrokerId, int] | None = None  # with its session
    why: str = "there was no controller"
    wish: Wish | None = None


class NotRegistered(NamedTuple):
    """This process does not compete: the registration of its number is gone, or not its own."""


class Candidate(NamedTuple):
    """Who competes, and whom it knows to be dead: a broker, or a session found over before."""

    broker: BrokerId
    session_id: int
    now: Timestamp
    gone: BrokerId | None = None
    over_session: int = 0
    standing: Standing = Standing()


Outcome = Won | Lost | Abstains | NotRegistered


def campaign(candidate: Candidate) -> Steps[Outcome]:
    """Won, or who is the controller instead; None if that is unknown."""
    for _ in range(ROUNDS_MAX):
        znodes = yield from read_controller_znodes()
        if znodes.epoch is None:
            yield Attempt(Multi((epoch_creation(),)))
            continue
        try:
            outcome = yield from _compete(candidate, znodes, znodes.epoch)
        except MalformedZnode as fault:
            yield Note("controller.znode_ignored", {"fault": str(fault)})
            return Lost(None)
        if not isinstance(outcome, Lost) or outcome.controller is not None:
            return outcome
    return Lost(None)


def _compete(candidate: Candidate, znodes: ControllerZnodes, epoch: Data) -> Steps[Outcome]:
    me, controller = candidate.broker, znodes.controller
    elected = znodes.elected
    is_over = controller is not None and (yield from _is_over(candidate, controller, elected))
    handed_over = elected is not None and not is_over and znodes.is_handed_over_to(me)
    if elected is not None and not is_over and not handed_over:
        return Lost(elected)
    if not (yield from _is_registered(candidate)):
        return NotRegistered()
    owner = 0 if controller is None or handed_over else controller.stat.ephemeral_owner
    abstention = yield from _abstention(candidate, znodes)
    if abstention is not None:
        return abstention._replace(over_session=owner)
    wish = znodes.wished if handed_over else None
    if controller is None:
        bid = decide_bid(me, epoch, candidate.now)
    else:
        fulfilled = znodes.wish if handed_over else None
        bid = decide_takeover(me, controller, epoch, candidate.now, wish=fulfilled)
    replaced = (elected, owner) if owner and elected is not None and elected != me else None
    answer = yield Attempt(bid.multi)
    won = Won(bid.lease, replaced, _why(candidate, elected, wish), wish)
    if not isinstance(answer, KeeperError):
        return won
    now = yield from read_controller_znodes()
    if now.epoch is None:
        return Lost(None)
    if _is_refused(answer):
        yield Note("controller.election_failed", {"reason": str(answer)})
    session = candidate.session_id
    outcome = decide_outcome(bid, now.controller, now.epoch, session_id=session)
    return won if isinstance(outcome, ControllerLease) else outcome


def _is_registered(candidate: Candidate) -> Steps[bool]:
    """Whether the registration of this number was made in this session.

    A process whose session has expired may find another in its place, with other logs. What that
    one is elected for, this one would take for itself if it were the controller.
    """
    (found,) = yield from read(Exists(BrokerZnode.path(candidate.broker), watch=False))
    return isinstance(found, StatReply) and found.stat.ephemeral_owner == candidate.session_id


def _abstention(candidate: Candidate, znodes: ControllerZnodes) -> Steps[Abstains | None]:
    """To whom this broker leaves it; a preferred one, and one that is ready, do not ask further."""
    me, standing = candidate.broker, candidate.standing
    ready = znodes.readiness
    abstention = abstains_for_ready(me, standing, ready, znodes.current_epoch)
    if abstention is not None or standing.is_preferred:
        return abstention
    if standing.is_eligible and ready is not None and ready.broker == me:
        return None
    return abstains_for_preferred(standing, (yield from read_preferred()))


def read_preferred() -> Steps[list[BrokerId]]:
    """The preferred brokers that are registered. Arrivals are watched."""
    (children,) = yield from read(GetChildren2(BrokerIdsZnode.PATH, watch=True))
    names = sorted(children.names) if isinstance(children, Children2) else []
    answers = yield from read(
        *(GetData(f"{BrokerIdsZnode.PATH}/{it}", watch=False) for it in names)
    )
    found = []
    for name, answer in zip(names, answers, strict=True):
        with suppress(MalformedZnode):
            number = BrokerIdsZnode.decode_name(name)
            if isinstance(answer, Data) and BrokerZnode.decode(number, answer.data).is_preferred:
                found.append(number)
    return found


def _why(candidate: Candidate, elected: BrokerId | None, wish: Wish | None) -> str:
    if wish is not None:
        return f"broker {elected} handed over: {wish.why}"
    if elected is None:
        return "there was no controller"
    if elected == candidate.broker:
        return "its former life was the controller"
    return f"the process of broker {elected} was gone"


def _is_refused(answer: KeeperError) -> bool:
    """Whether ZooKeeper has a reason of its own: no other broker was faster."""
    raced = BadVersion | NodeExists | NoNode
    if isinstance(answer, MultiFailed):
        return not isinstance(answer.cause, raced)
    return not isinstance(answer, OutcomeUnknown)


def _is_over(candidate: Candidate, controller: Data, elected: BrokerId | None) -> Steps[bool]:
    """The node of a former life of ours, or of a broker that is known to be dead."""
    owner = controller.stat.ephemeral_owner
    if owner in {candidate.session_id, candidate.over_session}:
        return True  # we resigned, and could not say so; or it was over when we abstained
    if elected == candidate.broker:
        return True
    if elected is None or elected != candidate.gone:
        return False
    if elected in candidate.standing.gone:
        return True
    (found,) = yield from read(GetData(BrokerZnode.path(elected), watch=False))  # it is back
    return not (isinstance(found, Data) and found.stat.ephemeral_owner == owner)


def step_down(session_id: int) -> Steps[None]:
    """Removes our own ephemeral. The epoch tells it from that of a successor."""
    znodes = yield from read_controller_znodes()
    controller, epoch = znodes.controller, znodes.epoch
    if controller is None or epoch is None or controller.stat.ephemeral_owner != session_id:
        return
    guard = Check(ControllerEpochZnode.PATH, epoch.stat.version)
    delete = Delete(ControllerZnode.PATH, controller.stat.version)
    yield Attempt(Multi((guard, delete)))


def still_holds(lease: ControllerLease, session_id: int) -> Steps[bool]:
    """Whether this session is the controller as before: it was perhaps only cut off for a while."""
    znodes = yield from read_controller_znodes()
    controller, epoch = znodes.controller, znodes.epoch
    return (
        controller is not None
        and controller.stat.ephemeral_owner == session_id
        and epoch is not None
        and epoch.stat.version == lease.epoch_version
    )

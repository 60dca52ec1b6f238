"""The controller hands over to the broker that is wished for, or says why not (KIP-39).

    wished ──refused──▶ taken back
      │  └─no broker is ready in time, or its process ends──▶ taken back
      ▼ ready
    handed over: nothing is under way, and no other event is dealt with
      │  └─the lease is over, or the broker's process or session ends──▶ taken back; it goes on
      ▼ replaced

The controller keeps /controller until it is replaced, so a broker that dies on the way costs at
most the lease. The wish is the one znode about which both compete: the controller takes it back by
its version, the other replaces the controller with a multi that deletes it in that version.

Every watch that this controller's writes have set off reaches the other before the wish does, which
is written behind them: what is handed over beside is only what the tree does not say.
"""

from typing import Final

from odradek.controller.context import ControllerContext
from odradek.controller.controller_znodes import ControllerZnodes, read_controller_znodes
from odradek.controller.decisions.history import ended, unwritten
from odradek.controller.events import WishChanged, WishIsDue
from odradek.controller.steps import Note, Remind, Steps, commit, read
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.metadata.znodes.controller import (
    BrokerFacts,
    NextControllerZnode,
    PastWish,
    ReadyToServeZnode,
    Wish,
)
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.units import SECOND, Millis
from odradek.zookeeper.client.errors import OutcomeUnknown
from odradek.zookeeper.protocol.codes import ANY_VERSION, KeeperError
from odradek.zookeeper.protocol.jute import OPEN_ACL
from odradek.zookeeper.protocol.jute_replies import Data
from odradek.zookeeper.protocol.jute_requests import Create, Delete, GetData, Multi, SetData

READY_PATIENCE: Final = Millis(20 * SECOND)
"""How long a broker may load the image; meanwhile the controller works on."""
PAUSE: Final = Millis(SECOND // 10)
FACTS_MAX: Final = 20_000
"""Replicas that are handed over as offline or unclean. More are left for brokers to say again."""


def why_not(context: ControllerContext, broker: BrokerId) -> str:
    """Why a broker cannot be the next controller; empty if it can."""
    known = context.image.brokers.get(broker)
    if known is None:
        return f"broker {broker} is not registered"
    if broker == context.me:
        return f"broker {broker} is the controller already"
    if broker not in context.live:
        return f"broker {broker} shuts down"
    if known.mark is None:
        return f"broker {broker} does not know how to take over: it is not one of ours"
    if known.is_preferred:
        return ""
    if not context.policy.has_fallback:
        return f"broker {broker} is not preferred, and the settings allow no other"
    preferred = [it.id for it in context.image.brokers.values() if it.is_preferred]
    lives = [it for it in preferred if it in context.live]
    return f"broker {broker} is not preferred, and {lives[0]}, which is, lives" if lives else ""


def on_wish(context: ControllerContext) -> Steps[None]:
    """The wish, or who is ready, has changed."""
    znodes = yield from read_controller_znodes()
    state = context.handover
    if znodes.wish is None:
        state.end()
        return
    try:
        wish = NextControllerZnode.decode(znodes.wish.data)
    except MalformedZnode as fault:
        state.end()
        yield Note("controller.znode_ignored", {"fault": str(fault)})
        yield from commit(Multi((Delete(NextControllerZnode.PATH, znodes.wish.stat.version),)))
        return
    version = znodes.wish.stat.version
    if state.wish == wish and state.version == version and state.is_handing_over:
        if not _is_ready(znodes, wish):
            yield from take_back(context, f"broker {wish.broker} is not ready any more")
        return  # as we have written it; it is replaced, or its lease will be over
    if state.wish is not None and state.wish.id != wish.id:
        yield Note("controller.wish_superseded", {"broker": state.wish.broker, "by": wish.broker})
    if wish.broker not in context.image.brokers and (yield from _is_registered(wish.broker)):
        yield Remind(PAUSE, WishChanged())  # it has just come: the news of it is on its way
        return
    is_new = state.wish is None or state.wish.id != wish.id
    state.begin(wish, version)
    if wish.broker == context.me and wish.epoch < context.lease.epoch:
        yield from take_back(context, "")  # fulfilled, if not in the way that was meant
        return
    refusal = _refusal(context, wish)
    if refusal:
        yield from take_back(context, refusal)
        return
    if is_new:
        yield Note("controller.is_wished_elsewhere", {"broker": wish.broker, "why": wish.why})
        yield Remind(READY_PATIENCE, WishIsDue(wish.id))
    if _is_ready(znodes, wish):
        yield from _hand_over(context)


def _is_registered(broker: BrokerId) -> Steps[bool]:
    (found,) = yield from read(GetData(BrokerZnode.path(broker), watch=False))
    if not isinstance(found, Data):
        return False
    try:
        BrokerZnode.decode(broker, found.data)
    except MalformedZnode:
        return False
    return True


def _refusal(context: ControllerContext, wish: Wish) -> str:
    if wish.epoch != context.lease.epoch:
        return f"it was made in controller epoch {wish.epoch}; now it is {context.lease.epoch}"
    if wish.is_handed_over:
        return "it says that it is handed over, and this controller has not written that"
    return why_not(context, wish.broker)


def _is_ready(znodes: ControllerZnodes, wish: Wish) -> bool:
    ready = znodes.readiness
    return ready is not None and (ready.broker, ready.wish) == (wish.broker, wish.id)


def _hand_over(context: ControllerContext) -> Steps[None]:
    """From now on nothing is decided here, until the wish is taken back."""
    state = context.handover
    assert state.wish is not None, "there is a wish"
    handed = state.wish._replace(facts=_facts(context))
    data = NextControllerZnode.encode(handed)
    (answer,) = yield from commit(Multi((SetData(NextControllerZnode.PATH, data, state.version),)))
    if isinstance(answer, KeeperError) and not (yield from _stands(answer, data)):
        return  # somebody has another wish; its watch tells
    state.begin(handed, state.version + 1)
    state.is_handing_over = True
    yield Note("controller.hands_over", {"broker": handed.broker, "epoch": handed.epoch})
    yield Remind(context.policy.handover_lease, WishIsDue(handed.id))


def _stands(answer: KeeperError, data: bytes) -> Steps[bool]:
    if not isinstance(answer, OutcomeUnknown):
        return False
    (found,) = yield from read(GetData(NextControllerZnode.PATH, watch=False))
    return isinstance(found, Data) and found.data == data


def _facts(context: ControllerContext) -> tuple[BrokerFacts, ...]:
    offline: dict[BrokerId, list[TopicPartition]] = {}
    for name, topic in context.image.topics.items():
        for number, partition in topic.partitions.items():
            for broker in partition.offline:
                offline.setdefault(broker, []).append(TopicPartition(name, number))
    unclean = context.unclean_logs
    if sum(map(len, offline.values())) + sum(map(len, unclean.values())) > FACTS_MAX:
        return ()
    brokers = context.image.brokers
    return tuple(
        BrokerFacts(
            it,
            brokers[it].epoch,
            tuple(offline.get(it, ())),
            tuple(unclean.get(it, ())),
            it in context.shutting_down,
        )
        for it in sorted({*offline, *unclean, *context.shutting_down} & brokers.keys())
    )


# It comes to nothing


def on_wish_due(context: ControllerContext, wish_id: str) -> Steps[None]:
    """Its time is over: no broker has got ready, or none has replaced this controller."""
    state = context.handover
    if state.wish is None or state.wish.id != wish_id:
        return
    handed = state.is_handing_over
    late = "did not take over in time" if handed else "did not get ready in time"
    yield from take_back(context, f"broker {state.wish.broker} {late}")


def take_back(context: ControllerContext, refusal: str) -> Steps[None]:
    """The wish is deleted as it stands, and who made it can read why; empty: fulfilled."""
    state = context.handover
    wish = state.wish
    assert wish is not None, "there is a wish"
    outcome = PastWish(wish.id, wish.broker, context.now, refusal)
    write = yield from ended(outcome)
    delete = Delete(NextControllerZnode.PATH, state.version)
    (answer,) = yield from commit(Multi((delete, write)))
    if isinstance(answer, KeeperError) and unwritten(answer, 1):
        yield from commit(Multi((delete,)))
    (found,) = yield from read(GetData(NextControllerZnode.PATH, watch=False))
    if isinstance(found, Data) and found.stat.version == state.version:
        yield Remind(PAUSE, WishIsDue(wish.id))  # it could not be written
        return
    state.end()
    context.preferred_since.pop(wish.broker, None)
    if refusal:
        yield Note("controller.wish_refused", {"broker": wish.broker, "reason": refusal})
    yield from _drop_readiness(wish)
    if isinstance(found, Data):
        yield from on_wish(context)  # somebody was faster with another


def _drop_readiness(wish: Wish) -> Steps[None]:
    """A broker that hangs does not do so itself, and others would abstain for it."""
    ready = (yield from read_controller_znodes()).readiness
    if ready is not None and ready.wish == wish.id:
        yield from commit(Multi((Delete(ReadyToServeZnode.PATH, ANY_VERSION),)))


def on_candidate_gone(context: ControllerContext, broker: BrokerId) -> Steps[None]:
    """A broker's process is no more: nothing is waited for."""
    wish = context.handover.wish
    if wish is not None and wish.broker == broker:
        yield from take_back(context, f"the process of broker {broker} is gone")


# The controller itself wants to go


def wish_for(context: ControllerContext, broker: BrokerId, why: str) -> Steps[str]:
    """The wish for a broker, made by the controller itself; its id, empty if there is another."""
    wish_id = f"{context.lease.epoch}-{context.policy.random.below(1 << 48):012x}"
    wish = Wish(wish_id, broker, context.lease.epoch, why)
    create = Create(NextControllerZnode.PATH, NextControllerZnode.encode(wish), OPEN_ACL)
    (answer,) = yield from commit(Multi((create,)))
    return "" if isinstance(answer, KeeperError) else wish_id


def successor(context: ControllerContext) -> BrokerId | None:
    """Who shall be the controller when this one stops: a preferred broker, else the youngest.

    In a rolling restart the youngest registration is that of a broker which was restarted already.
    """
    able = [it for it in context.image.brokers.values() if not why_not(context, it.id)]
    return max(able, key=lambda it: (it.is_preferred, it.epoch)).id if able else None

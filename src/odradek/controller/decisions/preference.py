"""The controller goes by itself: to a preferred broker, and away from one that stops.

A preferred broker must have been up for a while, in one life, and must be in sync in all that it
holds, before a controller on another broker moves to it; after a move that failed it waits as long
again. So a broker that restarts again and again moves nothing. A controller on a preferred broker
stays where it is. The controller leaves only to a broker that is ready to take over.
"""

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.handover import on_wish, successor, why_not, wish_for
from odradek.controller.steps import Steps
from odradek.metadata.nouns import Broker
from odradek.model.ids import BrokerId


def on_preference(context: ControllerContext) -> Steps[None]:
    """Makes the wish once a preferred broker has settled."""
    settled = _settled(context)
    if settled is None or context.handover.wish is not None:
        return
    if (yield from wish_for(context, settled, f"broker {settled} is preferred, and settled")):
        yield from on_wish(context)


def _settled(context: ControllerContext) -> BrokerId | None:
    """The first of them; None, too, where the controller is on a preferred broker already."""
    me = context.image.brokers.get(context.me)
    if me is None or me.is_preferred:
        return None
    preferred = [it for it in context.image.brokers.values() if it.is_preferred]
    context.preferred_since = {
        it.id: context.preferred_since.get(it.id, (it.epoch, context.time)) for it in preferred
    }
    for broker in preferred:
        epoch, since = context.preferred_since[broker.id]
        if epoch != broker.epoch:
            context.preferred_since[broker.id] = (broker.epoch, context.time)
        elif context.time - since >= context.policy.preferred_settle and _is_able(context, broker):
            return broker.id
    return None


def _is_able(context: ControllerContext, broker: Broker) -> bool:
    if why_not(context, broker.id):
        return False
    for partition in context.hosted.get(broker.id, ()):
        image = context.image.partition(partition)
        if image is None or image.state is None or broker.id in image.assignment.adding:
            continue
        if broker.id not in image.state.isr and broker.id not in image.offline:
            return False
    return True


def on_stop(context: ControllerContext) -> Steps[str]:
    """This broker stops: the wish that moves the controller away; empty if none can take over."""
    wish = context.handover.wish
    if wish is not None:
        return wish.id
    broker = successor(context)
    if broker is None:
        return ""
    made = yield from wish_for(context, broker, f"broker {context.me} stops")
    if made:
        yield from on_wish(context)
    return made

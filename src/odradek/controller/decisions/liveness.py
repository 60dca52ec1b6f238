"""A broker's process is known to be dead long before its session expires.

Its registration is deleted, if it is still that of the life which ended, and if the broker is one
of ours: those watch their registration and make it anew, so a mistake costs a moment. A Kafka
broker does not watch its own, and would be lost for good; its session has to expire.
"""

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.broker_changes import on_brokers
from odradek.controller.decisions.handover import on_candidate_gone
from odradek.controller.steps import Note, Steps, commit, read
from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.broker import BrokerZnode
from odradek.model.ids import BrokerId
from odradek.model.positions import BrokerEpoch
from odradek.zookeeper.client.errors import MultiFailed, NoNode
from odradek.zookeeper.protocol.codes import KeeperError
from odradek.zookeeper.protocol.jute_replies import Data, StatReply
from odradek.zookeeper.protocol.jute_requests import Delete, Exists, GetData, Multi


def on_process_gone(
    context: ControllerContext, broker: BrokerId, epoch: BrokerEpoch
) -> Steps[None]:
    """The broker counts as dead from now on; its leaderships move in the same turn."""
    known = context.image.brokers.get(broker)
    if known is None or known.epoch != epoch or known.mark is None:
        return
    yield from on_candidate_gone(context, broker)
    path = BrokerZnode.path(broker)
    (found,) = yield from read(Exists(path, watch=True))
    if isinstance(found, StatReply) and found.stat.czxid != epoch:
        return  # another life; the watch on the registrations tells
    if isinstance(found, StatReply):
        (answer,) = yield from commit(Multi((Delete(path, found.stat.version),)))
        if isinstance(answer, KeeperError) and not _was_gone(answer):
            yield Note("controller.registration_stays", {"broker": broker, "reason": str(answer)})
            return
        yield Note("controller.registration_deleted", {"broker": broker, "broker_epoch": epoch})
    alive = [it for it in context.image.brokers.values() if it.id != broker]
    yield from on_brokers(context, alive)


def strike_session(broker: BrokerId, session: int) -> Steps[None]:
    """The controller that was replaced was this broker: its registration goes with its node.

    Both are of one session, so it is the same life of it.
    """
    path = BrokerZnode.path(broker)
    (found,) = yield from read(GetData(path, watch=False))
    if not isinstance(found, Data) or found.stat.ephemeral_owner != session:
        return
    try:
        is_ours = BrokerZnode.decode(broker, found.data).mark is not None
    except MalformedZnode:
        return
    if is_ours:
        yield from commit(Multi((Delete(path, found.stat.version),)))
        yield Note("controller.registration_deleted", {"broker": broker})


def _was_gone(answer: KeeperError) -> bool:
    return isinstance(answer, MultiFailed) and isinstance(answer.cause, NoNode)

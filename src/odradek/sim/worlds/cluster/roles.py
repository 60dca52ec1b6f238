"""What brokers and the cluster are at when a fault strikes: columns of the table of coverage."""

from collections.abc import Collection, Mapping
from typing import Final

from odradek.broker.broker import Broker
from odradek.metadata.znodes.admin import DeleteTopicZnode
from odradek.sim.stage.broker_machine import name_of
from odradek.sim.worlds.cluster.view import ClusterView

LEADER: Final = "leader"
FOLLOWER: Final = "follower"
CONTROLLER: Final = "controller"
REASSIGNMENT: Final = "in a reassignment"
DELETION: Final = "in a deletion"
NOT_WHOLE: Final = "not all up"
ALWAYS: Final = "at all"


def roles_in(view: ClusterView, *, is_whole: bool) -> Mapping[str, Collection[str]]:
    """Of each machine of a broker by its name; of the cluster, by no name."""
    found: dict[str, Collection[str]] = {"": _of_all(view, is_whole=is_whole)}
    for number, broker in view.opened():
        found[name_of(number)] = _of_one(broker)
    return found


def _of_all(view: ClusterView, *, is_whole: bool) -> Collection[str]:
    found = {ALWAYS}
    if not is_whole:
        found.add(NOT_WHOLE)
    topics = view.topics().values()
    if any(it.is_reassigning for topic in topics for it in topic.partitions.values()):
        found.add(REASSIGNMENT)
    if view.children(DeleteTopicZnode.PARENT):
        found.add(DELETION)
    return found


def _of_one(broker: Broker) -> Collection[str]:
    services = broker.services_of_this_life
    led = {it.partition for it in services.replicas.all_led()}
    follows = any(log.partition not in led for log in services.replicas.dirs)
    is_controller = services.controller.controller is not None
    rows = ((LEADER, bool(led)), (FOLLOWER, follows), (CONTROLLER, is_controller))
    return {role for role, is_so in rows if is_so}

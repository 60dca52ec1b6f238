"""What a cluster is like once nothing goes wrong any more: all agree, and nothing is left over."""

from collections.abc import Iterator
from typing import Final

from odradek.broker.broker import Broker
from odradek.metadata.znodes.cluster import ControllerZnode
from odradek.metadata.znodes.settings import Entity, EntityType, SettingsZnode
from odradek.metadata.znodes.topic import TopicsZnode
from odradek.sim.worlds.cluster.view import ClusterView, Place

EMPTY: Final = (
    "/admin/delete_topics",
    "/isr_change_notification",
    "/log_dir_event_notification",
)
"""Nodes of the tree whose children are work that waits for the controller."""


def unsettled(view: ClusterView) -> str:
    """What is not as it should be; nothing if all is."""
    for number, machine in view.brokers.items():
        if not machine.serves:
            return f"broker {number} does not serve"
        if not machine.is_whole:
            return f"broker {number} lacks a disk"
    complaints = (
        *_in_tree(view),
        *_controllers(view),
        *_in_images(view),
        *_in_logs(view),
        *_in_settings(view),
    )
    return "; ".join(complaints[:3])


def _in_tree(view: ClusterView) -> Iterator[str]:
    registered = view.children("/brokers/ids")
    if registered != [str(number) for number in view.brokers]:
        yield f"registered are {registered}"
    for path in EMPTY:
        left = view.children(path)
        if left:
            yield f"{path} has {left}"
    settled = set(view.children("/config/topics")) - {*view.children(TopicsZnode.PATH)}
    if settled:
        yield f"settings are left of {sorted(settled)}"
    for name, topic in view.topics().items():
        for number, assignment in topic.partitions.items():
            if assignment.is_reassigning:
                yield f"{name}-{number} is being reassigned: {assignment}"
    for place, replicas in view.places():
        state = view.state(place.partition)
        if state is None or state.leader is None or {*state.isr} != {*replicas}:
            yield f"{place} of {replicas} is {state}"
        elif state.recovering:
            yield f"{place} is recovering"


def _controllers(view: ClusterView) -> Iterator[str]:
    """Who acts as the controller, and whom the tree names."""
    node = view.tree.nodes.get(ControllerZnode.PATH)
    named = [] if node is None else [int(ControllerZnode.decode(node.data))]
    acts = [
        it for it, broker in view.opened() if broker.services_of_this_life.controller.controller
    ]
    if acts != named:
        yield f"{acts} act as the controller, and {named} is elected"


def _in_images(view: ClusterView) -> Iterator[str]:
    topics = view.topics()
    for number, broker in view.opened():
        image = broker.cluster.image
        if sorted(image.brokers) != sorted(view.brokers):
            yield f"broker {number} knows {sorted(image.brokers)}"
        if sorted(image.topics) != sorted(topics):
            yield f"broker {number} knows topics {sorted(image.topics)}, not {sorted(topics)}"
            continue
        for place, _ in view.places():
            state, known = view.state(place.partition), image.partition(place.partition)
            found = known.state if known is not None else None
            if known is None or found is None or state is None:
                yield f"broker {number} knows {known} of {place}"
            elif (found.leader, found.leader_epoch, {*found.isr}) != (
                state.leader,
                state.leader_epoch,
                {*state.isr},
            ):
                yield f"broker {number} knows {found} of {place}, which is {state}"
            elif known.offline:
                yield f"broker {number} believes {place} to be offline in {sorted(known.offline)}"


def _in_logs(view: ClusterView) -> Iterator[str]:
    wanted = dict(view.places())
    for number, broker in view.opened():
        mine = {place for place, replicas in wanted.items() if number in replicas}
        yield from (
            f"broker {number} has no log of {it}" for it in sorted(mine) if _lacks(view, broker, it)
        )
        partitions = {place.partition for place in mine}
        for log in broker.services_of_this_life.replicas.dirs:
            if log.partition not in partitions:
                yield f"broker {number} has a log of {log.partition}"
        led = {it.partition for it in broker.services_of_this_life.replicas.all_led()}
        for place in mine:
            state = view.state(place.partition)
            leads = state is not None and state.leader == number
            if leads != (place.partition in led):
                yield f"broker {number} {'does not lead' if leads else 'leads'} {place}"


def _in_settings(view: ClusterView) -> Iterator[str]:
    """Of topics that a broker holds a log of: it acts on what the tree says of them."""
    for name in view.topics():
        entity = Entity(EntityType.TOPICS, name)
        node = view.tree.nodes.get(SettingsZnode.path(entity))
        told = {} if node is None else SettingsZnode.decode(entity, node.data)
        for number, broker in view.opened():
            known = dict(broker.settings.overrides(entity))
            logs = broker.services_of_this_life.replicas.dirs
            if known != told and any(it.partition.topic == name for it in logs):
                yield f"broker {number} acts on {known} of {name}, which are {told}"


def _lacks(view: ClusterView, broker: Broker, place: Place) -> bool:
    return view.log(broker, place) is None

"""What the controller says of itself on `/metrics`, under the names of Kafka's exporters.

A broker that is not the controller says 0 of all that only the controller knows, as Kafka does:
boards take the sum or the maximum over all brokers.
"""

from collections.abc import Iterator
from typing import Final

from odradek.broker.figures.sample import Sample
from odradek.broker.services import Services
from odradek.controller import events
from odradek.controller.context import ControllerContext
from odradek.controller.decisions.balance import imbalanced_partitions, offline_partitions
from odradek.controller.phases import ReplicaPhase
from odradek.model.ids import TopicPartition
from odradek.model.units import SECOND

PREFIX = "kafka_controller_kafkacontroller_"
CHANNELS = "kafka_controller_controllerchannelmanager_"
STATES: Final = {
    "": 0,
    events.ControllerChanged.__name__: 1,
    events.BeginningGoesOn.__name__: 1,
    events.TreeChanged.__name__: 2,
    events.ProcessIsGone.__name__: 2,
    events.CreationAsked.__name__: 3,
    events.GrowthAsked.__name__: 3,
    events.DeletionAsked.__name__: 4,
    events.ReassignmentAsked.__name__: 5,
    events.RebalanceIsDue.__name__: 6,
    events.ElectionAsked.__name__: 7,
    events.ControlledShutdownAsked.__name__: 8,
    events.AlterPartitionAsked.__name__: 9,
    events.BrokerAnswered.__name__: 10,
    events.StopAsked.__name__: 12,
    events.ReassignmentsListed.__name__: 15,
}
"""Kafka's number for what the controller does while it deals with an event."""
NO_STATE_OF_KAFKA: Final = 99


def controller_samples(services: Services, *, is_controller: bool) -> Iterator[Sample]:
    """Gauges and counters."""
    image = services.cluster.image
    decisions = services.controller.controller
    yield Sample(f"{PREFIX}activecontrollercount", is_controller)
    is_preferred = services.controller.policy.is_preferred
    is_active = decisions is not None
    yield Sample(f"{PREFIX}activepreferredcontrollercount", is_preferred and is_active)
    yield Sample(f"{PREFIX}standbypreferredcontrollercount", is_preferred and not is_active)
    yield Sample("odradek_controller_withheld", services.controller.standing_by.is_withheld)
    state = STATES.get(services.controller.times.kind, NO_STATE_OF_KAFKA)
    yield Sample(f"{PREFIX}controllerstate", state)
    yield Sample(f"{PREFIX}activebrokercount", len(image.brokers) if is_controller else 0)
    yield Sample(f"{PREFIX}globaltopiccount", len(image.topics))
    partitions = sum(len(topic.partitions) for topic in image.topics.values())
    yield Sample(f"{PREFIX}globalpartitioncount", partitions)
    yield from _decisions(decisions.context if decisions is not None else None)
    yield from _events(services)
    yield Sample("kafka_brokers", len(image.brokers))
    for broker in image.brokers.values():
        labels = tuple((f"listener_{at.listener.lower()}", at.host) for at in broker.endpoints)
        yield Sample("kafka_broker_info", 1, (("id", str(broker.id)), *labels))


def _decisions(context: ControllerContext | None) -> Iterator[Sample]:
    offline = imbalanced = topics = replicas = waiting_topics = waiting = unclean = 0
    if context is not None:
        offline, imbalanced = offline_partitions(context), imbalanced_partitions(context)
        topics, unclean = len(context.deletions), context.unclean_elections
        for deletion in context.deletions.values():
            phases = list(deletion.replicas.values())
            ineligible = phases.count(ReplicaPhase.DELETION_INELIGIBLE)
            replicas += len(phases) - phases.count(ReplicaPhase.DELETION_SUCCESSFUL)
            waiting += ineligible
            waiting_topics += bool(ineligible or not deletion.has_begun)
    yield Sample(f"{PREFIX}offlinepartitionscount", offline)
    yield Sample(f"{PREFIX}preferredreplicaimbalancecount", imbalanced)
    yield Sample(f"{PREFIX}topicstodeletecount", topics)
    yield Sample(f"{PREFIX}replicastodeletecount", replicas)
    yield Sample(f"{PREFIX}topicsineligibletodeletecount", waiting_topics)
    yield Sample(f"{PREFIX}replicasineligibletodeletecount", waiting)
    yield Sample("kafka_controller_controllerstats_uncleanleaderelections_total", unclean)
    moving = () if context is None else context.reassigning
    yield Sample("odradek_controller_reassigning_partitions", len(moving))
    waits = 0 if context is None else sum(_waits(context, it) for it in moving)
    yield Sample("odradek_controller_waiting_reassignments", waits)
    if context is not None:
        for broker in sorted(context.hosted):
            if context.hosted[broker] and broker not in context.image.brokers:
                yield Sample("odradek_controller_missing_broker", 1, (("id", str(broker)),))


def _waits(context: ControllerContext, partition: TopicPartition) -> bool:
    """Whether a broker that is to get a replica is not there."""
    image = context.image.partition(partition)
    return image is not None and any(it not in context.live for it in image.assignment.adding)


def _events(services: Services) -> Iterator[Sample]:
    """What waits for brokers; by kind of event how many, how long they waited and took."""
    prefix = "kafka_controller_controllereventmanager_"
    yield Sample(f"{prefix}eventqueuesize", services.controller.backlog)
    backlogs = services.controller.backlogs()
    yield Sample(f"{CHANNELS}totalqueuesize", sum(backlogs.values()))
    for broker, waiting in backlogs.items():
        yield Sample(f"{CHANNELS}queuesize", waiting, (("broker", str(broker)),))
    for kind, times in sorted(services.controller.times.by_kind.items()):
        labels = (("event", kind),)
        yield Sample(f"{prefix}events_total", times.count, labels)
        yield Sample(f"{prefix}eventqueuetimems_total", times.waited / SECOND, labels)
        yield Sample(f"{prefix}eventtimems_total", times.micros / SECOND, labels)

"""What the controller tells operators of itself and of the cluster, as objects for an answer."""

from collections.abc import Mapping

from odradek.controller.context import ControllerContext
from odradek.controller.decisions.balance import imbalanced_partitions, offline_partitions
from odradek.controller.health import problems
from odradek.metadata.json_body import Json
from odradek.model.ids import by_topic


def health(context: ControllerContext) -> Mapping[str, Json]:
    """Every problem with its cause; healthy, if there is none."""
    found = problems(context)
    return {
        "healthy": not found,
        "controller": context.me,
        "controller_epoch": context.lease.epoch,
        "problems": [
            {
                "cause": problem.cause.text,
                "kind": problem.cause.kind,
                "brokers": list(problem.cause.brokers),
                "effects": {effect: by_topic(them) for effect, them in problem.effects.items()},
            }
            for problem in found
        ],
    }


def description(context: ControllerContext) -> Mapping[str, Json]:
    """Who the controller is, and what it has to do."""
    topics = context.image.topics
    return {
        "controller": context.me,
        "controller_epoch": context.lease.epoch,
        "brokers": list(context.image.brokers),
        "registrations": {str(it.id): it.epoch for it in context.image.brokers.values()},
        "shutting_down": list(context.shutting_down),
        "topics": len(topics),
        "partitions": sum(len(topic.partitions) for topic in topics.values()),
        "offline_partitions": offline_partitions(context),
        "imbalanced_partitions": imbalanced_partitions(context),
        "reassigning": len(context.reassigning),
        "to_delete": len(context.deletions),
    }

"""What the handlers of the group APIs share."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, at_once
from odradek.coordinator.groups import answers
from odradek.metadata.image import ClusterImage
from odradek.model.errors import ErrorCode


def ask_one(services: Services, pending: PendingRequest, request: Any) -> None:
    """The group that the request names answers it as a whole."""
    services.groups.ask(
        pending, ((request.group_id, request),), lambda found: pending.answer(found[0])
    )


def refuse_one(request: Any, version: int, code: ErrorCode, message: str) -> Any:
    """The response that says no more than this."""
    del version, message
    return answers.refusal(request, code)


def in_slices(steps: Steps[None], request: Any) -> Steps[None] | None:
    """Those of a request about many partitions are left to the caller; of few they are done."""
    if sum(len(topic.partitions) for topic in request.topics) > ROWS_IN_A_SLICE:
        return steps
    at_once(steps)
    return None


def go_on(pending: PendingRequest, steps: Steps[None]) -> None:
    """The rest of a request, once what it waited for has come: as it began."""
    if pending.slices is None:
        at_once(steps)
    else:
        pending.slices.begin(steps, lambda: pending.connection.is_over)


class Unknown(NamedTuple):
    """Partitions of a topic that a request names, and that do not exist, or not for its client."""

    topic: str
    partitions: list[int]
    code: ErrorCode = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def take_out_unknown(image: ClusterImage, request: Any) -> Steps[list[Unknown]]:
    """Leaves in a request about topics only what exists; what does not is refused beside it."""
    kept, unknown = [], []
    for topic in request.topics:
        found = image.topics.get(topic.name)
        there = found.partitions if found else ()
        existing, missing = [], []
        for seen, one in enumerate(topic.partitions, 1):
            if one.partition_index in there:
                existing.append(one)
            else:
                missing.append(one.partition_index)
            if not seen % ROWS_IN_A_SLICE:
                yield
        if missing:
            unknown.append(Unknown(topic.name, missing))
            topic.partitions = existing
        if existing:
            kept.append(topic)
    request.topics = kept
    return unknown


def put_together(
    topics: Sequence[Any], unknown: Sequence[Unknown], kinds: tuple[Any, Any]
) -> Steps[list[Any]]:
    """The topics of a response, with what was refused as unknown; each topic is named once."""
    of_topic, of_partition = kinds
    by_name = {topic.name: topic for topic in topics}
    for name, partitions, code in unknown:
        topic = by_name.setdefault(name, of_topic(name))
        rows = list(topic.partitions)
        for seen, number in enumerate(partitions, 1):
            rows.append(of_partition(number, code))
            if not seen % ROWS_IN_A_SLICE:
                yield
        topic.partitions = rows
    return list(by_name.values())

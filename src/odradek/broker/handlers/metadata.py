"""Metadata (key 3), versions 0 to 12.

Who is in the cluster, and who leads the partitions of some topics, or of all. A topic that is
missing is made, where client and settings allow it, and the answer waits for it. So it does, for a
moment, for who leads instead of a broker whose process has just ended. v1 controller, racks, null
for all topics. v2 cluster id. v4 whether to make topics. v5 offline replicas. v7 leader epochs. v8
authorized operations. v10 topic ids. v12 topics asked for by their ids.
"""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from odradek.broker.access.authorizer import ALL_ON, Authorizer
from odradek.broker.access.need import REFUSALS, Served
from odradek.broker.handlers.api import Api, Later
from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import ROWS_IN_A_SLICE, Steps, at_once, dropped, in_turns
from odradek.config.rows import broker as rows
from odradek.metadata.image import ClusterImage, PartitionImage, TopicImage
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_BROKER, NO_TOPIC_ID, TopicId
from odradek.model.names import GROUP_METADATA_TOPIC, INTERNAL_TOPICS, topic_name_fault
from odradek.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

TOPICS_AT_ONCE_MAX: Final = 50
"""With more the answer is made in slices."""
MADE_AT_ONCE_MAX: Final = 50
"""Topics that are made together; the others wait, so that neighbours do not."""
NULL_SINCE: Final = 1
IDS_SINCE: Final = 12
Sees = Callable[[str], bool]
"""Whether a client may know of a topic; None where every client may."""


class WithoutName(BrokerError):
    """A topic that is asked for by its id alone, in a version whose answers must have names."""

    code = ErrorCode.INVALID_REQUEST


def handle(
    services: Services, pending: PendingRequest, request: MetadataRequest
) -> Later | Steps[Later | None] | None:
    """At once, unless a topic is to be made first, or there are many."""
    steps = _steps(services, pending, request)
    count = len(services.cluster.image.topics if request.topics is None else request.topics)
    return at_once(steps) if count <= TOPICS_AT_ONCE_MAX else steps


def _steps(
    services: Services, pending: PendingRequest, request: MetadataRequest
) -> Steps[Later | None]:
    if pending.version < IDS_SINCE:
        for seen, topic in enumerate(request.topics or (), 1):
            if not seen % ROWS_IN_A_SLICE:
                yield
            if topic.name is None or topic.topic_id != NO_TOPIC_ID:
                raise WithoutName(f"topics are asked for by their ids from v{IDS_SINCE} on")
    missing, errors = yield from _missing(services, pending, request)
    if missing or _undecided(services, pending, request):
        return partial(_made_and_answered, services, pending, request, (missing, errors))
    pending.answer((yield from _answer(services, pending, request, errors)))
    yield from dropped(request)
    return None


def _missing(
    services: Services, pending: PendingRequest, request: MetadataRequest
) -> Steps[tuple[list[str], dict[str, ErrorCode]]]:
    """Topics that are named, legal, not there, and may be made; and why this client may not."""
    if not request.allow_auto_topic_creation or not request.topics:
        return [], {}
    image, found = services.cluster.image, dict[str, None]()
    may_make = services.settings.broker[rows.AUTO_CREATE_TOPICS_ENABLE]
    for seen, topic in enumerate(request.topics, 1):
        if not seen % ROWS_IN_A_SLICE:
            yield
        name = topic.name
        if not name or name in image.topics or not (may_make or name == GROUP_METADATA_TOPIC):
            continue
        if topic_name_fault(name) is None:
            found[name] = None
    if services.access is None:
        return list(found), {}
    return (yield from _creatable(services.access, pending.connection, list(found)))


def _creatable(
    access: Authorizer, client: Client, names: list[str]
) -> Steps[tuple[list[str], dict[str, ErrorCode]]]:
    """Those that this client may have made, and the others; it must know of either."""
    kind = ResourceType.TOPIC
    may_all = access.may_on_cluster(client, Operation.CREATE)
    creatable, refused = list[str](), dict[str, ErrorCode]()
    for seen, name in enumerate(names, 1):
        if not seen % ROWS_IN_A_SLICE:
            yield
        if not access.may(client, Operation.DESCRIBE, kind, name):
            continue
        if may_all or access.may(client, Operation.CREATE, kind, name):
            creatable.append(name)
        else:
            refused[name] = REFUSALS[kind]
    return creatable, refused


def _undecided(services: Services, pending: PendingRequest, request: MetadataRequest) -> list[str]:
    """Topics in the answer that a broker leads whose process has just ended."""
    cluster = services.cluster
    if not cluster.vanished:
        return []
    asked = _asked_for(cluster.image, request, pending.version)
    found = (
        it if isinstance(it, TopicImage) else _find(cluster.image, it, {}, None) for it in asked
    )
    names = (topic.name for topic in found if isinstance(topic, TopicImage))
    return [name for name in names if not cluster.is_decided(name)]


async def _made_and_answered(
    services: Services,
    pending: PendingRequest,
    request: MetadataRequest,
    creation: tuple[list[str], dict[str, ErrorCode]],
) -> MetadataResponse:
    """A topic that cannot be made has its own error."""
    missing, errors = creation
    await services.cluster.has_decided(_undecided(services, pending, request))
    for first in range(0, len(missing), MADE_AT_ONCE_MAX):
        some = missing[first : first + MADE_AT_ONCE_MAX]
        failed = await services.auto_topics.ensure_all(some)
        errors |= {name: error.code for name, error in failed.items()}
        if pending.connection.is_over:
            break
    return await in_turns(_answer(services, pending, request, errors))


def _answer(
    services: Services,
    pending: PendingRequest,
    request: MetadataRequest,
    errors: dict[str, ErrorCode],
) -> Steps[MetadataResponse]:
    image, topics, seen = services.cluster.image, list[MetadataResponseTopic](), 0
    access, client, kind = services.access, pending.connection, ResourceType.TOPIC
    sees = None if access is None else partial(access.may, client, Operation.DESCRIBE, kind)
    for asked in _asked_for(image, request, pending.version):
        found: TopicImage | MetadataResponseTopic | None
        if isinstance(asked, TopicImage):
            found = asked if sees is None or sees(asked.name) else None
        else:
            found = _find(image, asked, errors, sees)
        if isinstance(found, TopicImage):
            topics.append(_topic(services, found))
            seen += len(found.partitions)
        elif found is not None:
            topics.append(found)
        seen += 1
        if seen > ROWS_IN_A_SLICE:
            seen = 0
            yield
    if request.include_topic_authorized_operations:
        for topic in topics:
            if not topic.error_code:
                topic.topic_authorized_operations = (
                    ALL_ON[kind]
                    if access is None or topic.name is None
                    else access.operations(client, kind, topic.name)
                )
    response = MetadataResponse(
        brokers=_brokers(services, pending, image),
        cluster_id=services.cluster.cluster_id,
        controller_id=NO_BROKER if image.controller is None else image.controller,
        topics=topics,
    )
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = (
            ALL_ON[ResourceType.CLUSTER] if access is None else access.operations_on_cluster(client)
        )
    return response


def _asked_for(
    image: ClusterImage, request: MetadataRequest, version: int
) -> Iterable[TopicImage | MetadataRequestTopic]:
    """All topics, or those that are named."""
    topics = request.topics
    if topics is None or (not topics and version < NULL_SINCE):
        return tuple(image.topics.values())
    return topics


def _find(
    image: ClusterImage,
    topic: MetadataRequestTopic,
    errors: dict[str, ErrorCode],
    sees: Sees | None,
) -> TopicImage | MetadataResponseTopic:
    name, topic_id = topic.name, TopicId(bytes(topic.topic_id))
    if topic_id != NO_TOPIC_ID:
        found = image.topic_of_id(topic_id)
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
    else:
        found = image.topics.get(name or "")
        unknown = errors.get(name or "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if name is not None and topic_name_fault(name) is not None:
            unknown = ErrorCode.INVALID_TOPIC_EXCEPTION
    known = name if found is None else found.name
    if sees is not None and known is not None and not sees(known):
        return MetadataResponseTopic(REFUSALS[ResourceType.TOPIC], name, topic_id)
    if found is not None:
        return found
    return MetadataResponseTopic(unknown, name, topic_id)


def _topic(services: Services, topic: TopicImage) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        ErrorCode.NONE,
        topic.name,
        NO_TOPIC_ID if topic.topic_id is None else topic.topic_id,
        topic.name in INTERNAL_TOPICS,
        [partition_row(services, number, it) for number, it in topic.partitions.items()],
    )


def partition_row(
    services: Services, number: int, partition: PartitionImage
) -> MetadataResponsePartition:
    """One partition: without a leader that is alive it cannot be used now."""
    state, replicas = partition.state, partition.assignment.replicas
    alive = services.cluster.image.brokers
    led = state is not None and state.leader in alive
    return MetadataResponsePartition(
        ErrorCode.NONE if led else ErrorCode.LEADER_NOT_AVAILABLE,
        number,
        state.leader if led and state is not None and state.leader is not None else NO_BROKER,
        -1 if state is None else state.leader_epoch,
        replicas,
        () if state is None else state.isr,
        [it for it in replicas if it not in alive or it in partition.offline],
    )


def _brokers(
    services: Services, pending: PendingRequest, image: ClusterImage
) -> list[MetadataResponseBroker]:
    """By the listener that the client came by; those that have none of it are left out."""
    found = []
    for broker in (*image.brokers.values(), *services.departed.listed()):
        is_me = broker.id == services.broker_id
        at = services.socket_server.endpoint(pending.connection, broker, is_me=is_me)
        if at is not None:
            found.append(MetadataResponseBroker(broker.id, at.host, at.port, broker.rack))
    return found


def refuse(
    request: MetadataRequest, version: int, code: ErrorCode, message: str
) -> MetadataResponse:
    """Each topic with the code."""
    del message
    nameless = None if version >= IDS_SINCE else ""
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(
                code, nameless if topic.name is None else topic.name, topic.topic_id
            )
            for topic in request.topics or ()
        ]
    )


API: Final = Api(
    key=3,
    versions=range(13),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(
            Operation.DESCRIBE,
            ResourceType.TOPIC,
            "that topic is refused; left out where all are asked for",
        ),
        Served(
            Operation.CREATE,
            ResourceType.TOPIC,
            "a topic that is missing is refused, unless it may create topics of the cluster",
        ),
        Served(Operation.DESCRIBE, ResourceType.CLUSTER, "no authorized operations of the cluster"),
    ),
)

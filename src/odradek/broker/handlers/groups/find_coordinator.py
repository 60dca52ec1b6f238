"""FindCoordinator (key 10), versions 0 to 6.

Which broker speaks for a group, or for a transactional id. The first who asks has the topic made in
which these are kept. Where the coordinator's process has just ended, the answer waits for a moment
for who comes in its place. v1 transactional ids. v3 flexible. v4 many keys (KIP-699). v5 errors of
KIP-890: not given here. v6 share groups: refused.
"""

from typing import Final

from odradek.broker.access.authorizer import NotAuthorized
from odradek.broker.access.need import REFUSALS, Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import pause_after
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_BROKER, TopicPartition
from odradek.model.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from odradek.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

MANY_SINCE: Final = 4
GROUP, TRANSACTION = 0, 1
TOPICS: Final = {GROUP: GROUP_METADATA_TOPIC, TRANSACTION: TRANSACTION_STATE_TOPIC}
RESOURCES: Final = {GROUP: ResourceType.GROUP, TRANSACTION: ResourceType.TRANSACTIONAL_ID}
NO_PORT: Final = -1


class InvalidKeyType(BrokerError):
    """A kind of coordinator that does not exist here."""

    code = ErrorCode.INVALID_REQUEST


class NoCoordinator(BrokerError):
    """The key has no coordinator at the moment; the client shall ask again."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE


async def handle(
    services: Services, pending: PendingRequest, request: FindCoordinatorRequest
) -> FindCoordinatorResponse:
    """The leader of the key's partition, as it is reached by the listener of this connection."""
    if request.key_type not in RESOURCES:
        raise InvalidKeyType(f"key type {request.key_type}: 0 is for groups, 1 for transactions")
    kind = RESOURCES[request.key_type]
    keys, allowed = list[tuple[str, bool]](), list[str]()
    for seen, key in enumerate(_keys(request, pending.version), 1):
        await pause_after(seen)
        may = _may(services, pending, kind, key)
        keys.append((key, may))
        if may:
            allowed.append(key)
    if keys and not allowed:
        raise NotAuthorized(kind)
    topic = TOPICS[request.key_type]
    try:
        await services.auto_topics.ensure(topic)
    except BrokerError as error:
        raise NoCoordinator(f"{topic} is not available: {error}") from error
    is_group, refusal = request.key_type == GROUP, REFUSALS[kind]
    where = services.groups.partition_of if is_group else services.transactions.partition_of
    if any(_is_undecided(services, where(key)) for key in allowed):
        await services.cluster.has_decided([topic])
    client, found = pending.connection, list[Coordinator]()
    for seen, (key, may) in enumerate(keys, 1):
        await pause_after(seen)
        if may:
            found.append(_find(services, client, key, where(key)))
        else:
            found.append(_refused(key, refusal, refusal.sentence))
    return _response(found, pending.version)


def _may(services: Services, pending: PendingRequest, kind: ResourceType, name: str) -> bool:
    access = services.access
    return access is None or access.may(pending.connection, Operation.DESCRIBE, kind, name)


def _keys(request: FindCoordinatorRequest, version: int) -> list[str]:
    return list(request.coordinator_keys) if version >= MANY_SINCE else [request.key]


def _is_undecided(services: Services, partition: TopicPartition | None) -> bool:
    """Whether its leader's process has just ended (`vanished_brokers`)."""
    cluster = services.cluster
    if partition is None or not cluster.vanished:
        return False
    known = cluster.image.partition(partition)
    return known is not None and known.leader in cluster.vanished


def _find(
    services: Services, client: Client, key: str, partition: TopicPartition | None
) -> Coordinator:
    image = services.cluster.image
    known = None if partition is None else image.partition(partition)
    leader = None if known is None else known.leader
    broker = None if leader is None else image.brokers.get(leader)
    if broker is not None:
        is_me = broker.id == services.broker_id
        endpoint = services.socket_server.endpoint(client, broker, is_me=is_me)
        if endpoint is not None:
            return Coordinator(key, broker.id, endpoint.host, endpoint.port, error_message=None)
    return _refused(key, NoCoordinator.code, f"{partition} has no leader at the moment")


def _refused(key: str, code: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key, NO_BROKER, "", NO_PORT, code, message)


def _response(found: list[Coordinator], version: int) -> FindCoordinatorResponse:
    if version >= MANY_SINCE:
        return FindCoordinatorResponse(coordinators=found)
    (one,) = found
    return FindCoordinatorResponse(
        error_code=one.error_code,
        error_message=one.error_message,
        node_id=one.node_id,
        host=one.host,
        port=one.port,
    )


def refuse(
    request: FindCoordinatorRequest, version: int, code: ErrorCode, message: str
) -> FindCoordinatorResponse:
    """No coordinator, for each key."""
    found = [_refused(key, code, message) for key in _keys(request, version)]
    return _response(found, version)


API: Final = Api(
    key=10,
    versions=range(7),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(Operation.DESCRIBE, ResourceType.GROUP, "that group is refused"),
        Served(Operation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, "that id is refused"),
    ),
)

"""What the handlers of settings share: what can have settings, by the numbers of the wire."""

from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from enum import IntEnum
from typing import Final, Protocol, TypeVar

from odradek.broker.access.need import Need, Served
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.broker.slices import pause_after
from odradek.controller.topics import InvalidRequest
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model import access as model
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.names import DEFAULT_ENTITY, topic_name_fault


class ResourceType(IntEnum):
    """What has settings that a client may see."""

    TOPIC = 2
    BROKER = 4


class Resource(Protocol):
    """A row of a request that changes settings."""

    resource_type: int
    resource_name: str


R = TypeVar("R", bound=Resource)
T = TypeVar("T")


def _needs(operation: Operation) -> tuple[Need, ...]:
    return (
        Served(operation, model.ResourceType.TOPIC, "that topic is refused"),
        Served(operation, model.ResourceType.CLUSTER, "that broker is refused"),
    )


DESCRIBES: Final = _needs(Operation.DESCRIBE_CONFIGS)
ALTERS: Final = _needs(Operation.ALTER_CONFIGS)


class InvalidTopicName(BrokerError):
    """No topic can have this name."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


def entity_of(services: Services, kind: int, name: str) -> Entity:
    """The entity that is meant; a broker without a name is the default of all brokers."""
    if kind == ResourceType.TOPIC:
        fault = topic_name_fault(name)
        if fault is not None:
            raise InvalidTopicName(fault)
        return Entity(EntityType.TOPICS, name)
    if kind == ResourceType.BROKER:
        if name in {"", str(services.broker_id)}:
            return Entity(EntityType.BROKERS, name or DEFAULT_ENTITY)
        raise InvalidRequest(f"broker {name!r}: this is broker {services.broker_id}; ask that one")
    raise InvalidRequest(f"resource type {kind}: known are 2 for topics and 4 for brokers")


def check_settings(
    services: Services, pending: PendingRequest, operation: Operation, one: Resource
) -> None:
    """Raises NotAuthorized; settings of a broker are the cluster's."""
    access, client = services.access, pending.connection
    if access is None:
        return
    if one.resource_type == ResourceType.TOPIC:
        access.check(client, operation, model.ResourceType.TOPIC, one.resource_name)
    elif one.resource_type == ResourceType.BROKER:
        access.check_cluster(client, operation)


async def each_by_itself(
    services: Services,
    pending: PendingRequest,
    resources: Sequence[R],
    alter: Callable[[R], Awaitable[None]],
    *,
    row: Callable[[ErrorCode, str | None, int, str], T],
) -> list[T]:
    """What came of each, as rows; one that is wrong keeps no other from being changed."""
    named, rows = Counter[tuple[int, str]](), list[T]()
    for seen, one in enumerate(resources, 1):
        await pause_after(seen)
        named[one.resource_type, one.resource_name] += 1
    for seen, one in enumerate(resources, 1):
        await pause_after(seen)
        code, text = ErrorCode.NONE, None
        try:
            if named[one.resource_type, one.resource_name] > 1:
                raise InvalidRequest(f"{one.resource_name!r} is named more than once")
            check_settings(services, pending, Operation.ALTER_CONFIGS, one)
            await alter(one)
        except BrokerError as error:
            code, text = error.code, str(error)
        rows.append(row(code, text, one.resource_type, one.resource_name))
    return rows

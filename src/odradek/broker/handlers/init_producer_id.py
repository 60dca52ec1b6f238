"""InitProducerId (key 22), versions 0 to 5.

Gives an idempotent producer its id; each one is new, with epoch 0. v3 an id to go on with, after
an error that a new epoch would end: the client gets another id instead, which does the same.
Skipped: transactional ids are refused as long as there is no coordinator for them.
"""

from typing import Final

from odradek.broker.access.authorizer import Authorizer, NotAuthorized
from odradek.broker.access.need import Served
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_PRODUCER
from odradek.model.positions import NO_PRODUCER_EPOCH
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


class NoTransactions(BrokerError):
    """There is no coordinator for transactions; nothing was begun."""

    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class HalfAnIdentity(BrokerError):
    """An id to go on with, without its epoch, or the other way round."""

    code = ErrorCode.INVALID_REQUEST


async def handle(
    services: Services, pending: PendingRequest, request: InitProducerIdRequest
) -> InitProducerIdResponse:
    """The next id."""
    if services.access is not None:
        _check(services.access, pending.connection, request.transactional_id)
    if request.transactional_id is not None:
        raise NoTransactions("transactions are not served")
    if (request.producer_id == NO_PRODUCER) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise HalfAnIdentity("producer id and producer epoch are given both or not at all")
    return InitProducerIdResponse(producer_id=await services.producer_ids.next())


def _check(access: Authorizer, client: Client, transactional_id: str | None) -> None:
    """Who may write to some topic may do it idempotently (KIP-679)."""
    if transactional_id is not None:
        access.check(client, Operation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)
        return
    may = access.may_on_cluster(client, Operation.IDEMPOTENT_WRITE)
    if not may and not access.may_write_somewhere(client):
        raise NotAuthorized(ResourceType.CLUSTER)


def refuse(
    request: InitProducerIdRequest, version: int, code: ErrorCode, message: str
) -> InitProducerIdResponse:
    """Nothing but the code."""
    del request, version, message
    return InitProducerIdResponse(error_code=code, producer_epoch=-1)


API: Final = Api(
    key=22,
    versions=range(6),
    handle=handle,
    refuse=refuse,
    needs=(
        Served(
            Operation.IDEMPOTENT_WRITE,
            ResourceType.CLUSTER,
            "refused, unless there is a topic it may write to",
        ),
        Served(Operation.WRITE, ResourceType.TRANSACTIONAL_ID, "refused"),
    ),
)

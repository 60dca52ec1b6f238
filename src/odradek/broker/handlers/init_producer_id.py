"""InitProducerId (key 22), versions 0 to 5.

Gives an idempotent producer its id; each one is new, with epoch 0. A transactional one is told by
its coordinator who it is. v3 an id to go on with, after an error that a new epoch would end
(KIP-360); without a transactional id the client gets another id instead, which does the same.
v4 PRODUCER_FENCED. v5 TRANSACTION_ABORTABLE: not given here.
Skipped: v6, for transactions in two phases that somebody else decides.
"""

from functools import partial
from typing import Final

from odradek.broker.access.authorizer import Authorizer, NotAuthorized
from odradek.broker.access.need import Served
from odradek.broker.handlers.api import Api, Later
from odradek.broker.handlers.transactions import identity_of, known_code
from odradek.broker.network.pending_request import Client, PendingRequest
from odradek.broker.services import Services
from odradek.coordinator.transactions.requests import InitProducer
from odradek.model.access import Operation, ResourceType
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_PRODUCER
from odradek.model.positions import NO_PRODUCER_EPOCH
from odradek.model.units import Millis
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

FENCED_SINCE: Final = 4


class HalfAnIdentity(BrokerError):
    """An id to go on with, without its epoch, or the other way round."""

    code = ErrorCode.INVALID_REQUEST


def handle(
    services: Services, pending: PendingRequest, request: InitProducerIdRequest
) -> Later | None:
    """The next id, or what the coordinator says."""
    name = request.transactional_id
    if services.access is not None:
        _check(services.access, pending.connection, name)
    if (request.producer_id == NO_PRODUCER) != (request.producer_epoch == NO_PRODUCER_EPOCH):
        raise HalfAnIdentity("producer id and producer epoch are given both or not at all")
    if name is None:
        return partial(_next, services)
    expected = None
    if request.producer_id != NO_PRODUCER:
        expected = identity_of(request)
    asked = InitProducer(name, Millis(request.transaction_timeout_ms), expected)

    def answer(found: InitProducerIdResponse) -> None:
        found.error_code = known_code(found.error_code, pending.version, FENCED_SINCE)
        pending.answer(found)

    services.transactions.ask_with_ids(pending, (name, asked), answer)
    return None


async def _next(services: Services) -> InitProducerIdResponse:
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

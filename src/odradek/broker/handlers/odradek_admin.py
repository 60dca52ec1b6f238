"""OdradekAdmin (key 20292), version 0: what Kafka has no request for.

One request for all such operations: its name, the resource that it acts on, and its arguments as a
JSON object; the answer is a JSON object. `operations/` has a module for each. An operation that the
controller decides may be sent to any broker, which forwards it; one that was forwarded already and
finds no controller is answered with NOT_CONTROLLER. Kafka's brokers do not offer this request.
"""

from typing import Final

from odradek.broker.access.need import ADMIN_OPERATIONS
from odradek.broker.handlers.api import Api
from odradek.broker.handlers.operations.operation import Call, Decider, Operation
from odradek.broker.handlers.operations.table import OPERATIONS
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.metadata.json_body import Body, MalformedZnode, encoded
from odradek.model import access
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import NO_BROKER
from odradek.model.units import Millis
from odradek.wire.messages.odradek_admin import OdradekAdminRequest, OdradekAdminResponse


class InvalidOperation(BrokerError):
    """An operation, resource or argument that does not exist."""

    code = ErrorCode.INVALID_REQUEST


class UnknownOperation(BrokerError):
    """A newer client asks for what this broker does not do."""

    code = ErrorCode.UNSUPPORTED_VERSION


class NotController(BrokerError):
    """The controller has changed while the request was on its way."""

    code = ErrorCode.NOT_CONTROLLER


async def handle(
    services: Services, pending: PendingRequest, request: OdradekAdminRequest
) -> OdradekAdminResponse:
    """Carries it out here, or has the controller do it.

    The broker that was asked first decides whether its client may; what was forwarded has to
    come from a broker.
    """
    operation = _operation(request)
    if services.access is not None:
        is_forwarded = request.forwarded_by != NO_BROKER
        needed = access.Operation.CLUSTER_ACTION if is_forwarded else operation.contract.permission
        services.access.check_cluster(pending.connection, needed)
    if operation.decider is Decider.CONTROLLER and services.controller.controller is None:
        return await _forward(services, request)
    return await serve(services, request)


async def serve(services: Services, request: OdradekAdminRequest) -> OdradekAdminResponse:
    """Carries it out in this process."""
    operation = _operation(request)
    place = f"arguments of {request.operation}"
    try:
        arguments = Body.parse(place, (request.arguments or "{}").encode())
        call = Call(request.resource_name, arguments, Millis(max(request.timeout_ms, 0)))
        result = await operation.run(services, call)
    except MalformedZnode as fault:
        raise InvalidOperation(str(fault)) from fault
    return OdradekAdminResponse(result=encoded(result).decode())


def _operation(request: OdradekAdminRequest) -> Operation:
    operation = OPERATIONS.get(request.operation)
    if operation is None:
        raise UnknownOperation(f"this broker has no operation {request.operation[:80]!r}")
    if request.resource_type != operation.contract.resource:
        wanted = operation.contract.resource
        raise InvalidOperation(
            f"{request.operation} acts on {wanted.name} ({wanted.value}), "
            f"not on resource type {request.resource_type}"
        )
    return operation


async def _forward(services: Services, request: OdradekAdminRequest) -> OdradekAdminResponse:
    believes_it_is_here = services.cluster.image.controller == services.broker_id
    if request.forwarded_by != NO_BROKER or believes_it_is_here:
        raise NotController(f"broker {services.broker_id} is not the controller")
    request.forwarded_by = services.broker_id
    response = await services.to_controller.ask(request)
    assert isinstance(response, OdradekAdminResponse), response
    return response


def refuse(
    request: OdradekAdminRequest, version: int, code: ErrorCode, message: str
) -> OdradekAdminResponse:
    """The code with its sentence."""
    del request, version
    return OdradekAdminResponse(error_code=code, error_message=message)


API: Final = Api(
    key=20292,
    versions=range(1),
    handle=handle,
    refuse=refuse,
    needs=ADMIN_OPERATIONS,
)

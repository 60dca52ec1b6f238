"""DescribeClientQuotas (key 48), versions 0 and 1: there are none."""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import ErrorCode
from odradek.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


def handle(
    services: Services, pending: PendingRequest, request: DescribeClientQuotasRequest
) -> None:
    """No client has a quota."""
    del services, request
    pending.answer(DescribeClientQuotasResponse(entries=[]))


def refuse(
    request: DescribeClientQuotasRequest, version: int, code: ErrorCode, message: str
) -> DescribeClientQuotasResponse:
    """The code and its reason."""
    del request, version
    return DescribeClientQuotasResponse(error_code=code, error_message=message, entries=None)


API: Final = Api(
    key=48,
    versions=range(2),
    handle=handle,
    refuse=refuse,
    needs=(Whole(Operation.DESCRIBE_CONFIGS),),
)

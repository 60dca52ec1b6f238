"""ApiVersions (key 18), versions 0 to 4.

Tells a client which APIs and versions there are, and learns what the client is called (KIP-511).
A version that we do not know is answered at version 0 with the error and the table, and the client
asks again. v3 software name and version, flexible; features of the cluster (KIP-584). v4 features
that begin at version 0, by which Java's clients of before v4 would take the answer for broken
(KAFKA-17011).
"""

import re
from collections.abc import Iterable
from typing import Final

from odradek.broker.access.need import NOTHING
from odradek.broker.control.features import LEVEL_MAX, TRANSACTION_VERSION, ClusterFeatures
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Offered, Services
from odradek.model.errors import BrokerError, ErrorCode
from odradek.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

NAMED_SINCE: Final = 3
FEATURES_FROM_0_SINCE: Final = 4
_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")  # KIP-511


class InvalidSoftwareName(BrokerError):
    """A client's name or version with characters that would not do in a metric."""

    code = ErrorCode.INVALID_REQUEST


def handle(services: Services, pending: PendingRequest, request: ApiVersionsRequest) -> None:
    """The table of what is offered."""
    if pending.version >= NAMED_SINCE:
        name, version = request.client_software_name, request.client_software_version
        if not (_NAME.fullmatch(name) and _NAME.fullmatch(version)):
            raise InvalidSoftwareName(f"client software {name[:40]!r}, version {version[:40]!r}")
        pending.connection.software = (name, version)
    answer = table(services.offered)
    if pending.version >= FEATURES_FROM_0_SINCE:
        answer.supported_features = [SupportedFeatureKey(TRANSACTION_VERSION, 0, LEVEL_MAX)]
    _add_finalized(answer, services.features)
    pending.answer(answer)


def _add_finalized(answer: ApiVersionsResponse, features: ClusterFeatures) -> None:
    """A level of 0 is none."""
    answer.finalized_features_epoch = features.epoch
    level = features.transaction_version
    if level:
        answer.finalized_features = [FinalizedFeatureKey(TRANSACTION_VERSION, level, level)]


def table(offered: Iterable[Offered], code: ErrorCode = ErrorCode.NONE) -> ApiVersionsResponse:
    """Every API that a client may use."""
    rows = [ApiVersion(api.key, api.offered.start, api.offered.stop - 1) for api in offered]
    return ApiVersionsResponse(error_code=code, api_keys=rows)


def refuse(
    request: ApiVersionsRequest, version: int, code: ErrorCode, message: str
) -> ApiVersionsResponse:
    """Nothing but the code."""
    del request, version, message
    return ApiVersionsResponse(error_code=code)


API: Final = Api(key=18, versions=range(5), handle=handle, refuse=refuse, needs=NOTHING)

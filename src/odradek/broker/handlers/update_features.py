"""UpdateFeatures (key 57), versions 0 to 2: the level of `transaction.version`.

Any broker writes it to ZooKeeper; the others hear of it there. v0 whether a lower level is meant.
v1 which kind of change, and whether it is only to be tried. v2 one error for all.
"""

from typing import Final

from odradek.broker.access.need import Whole
from odradek.broker.control.features import TRANSACTION_VERSION, InvalidFeature
from odradek.broker.handlers.api import Api
from odradek.broker.network.pending_request import PendingRequest
from odradek.broker.services import Services
from odradek.model.access import Operation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.wire.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

UPGRADE: Final = 1
KIND_SINCE: Final = 1
ONE_ERROR_SINCE: Final = 2


async def handle(
    services: Services, pending: PendingRequest, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    """Each feature by itself; there is one."""
    results = []
    for update in request.feature_updates:
        result = UpdatableFeatureResult(update.feature, error_message=None)
        try:
            await _update(services, pending.version, update, request)
        except BrokerError as error:
            result.error_code, result.error_message = error.code, str(error)
        results.append(result)
    failed = next((it for it in results if it.error_code), None)
    if pending.version < ONE_ERROR_SINCE or failed is None:
        return UpdateFeaturesResponse(error_message=None, results=results)
    return UpdateFeaturesResponse(error_code=failed.error_code, error_message=failed.error_message)


async def _update(
    services: Services, version: int, update: FeatureUpdateKey, request: UpdateFeaturesRequest
) -> None:
    if update.feature != TRANSACTION_VERSION:
        raise InvalidFeature(
            f"{update.feature!r} is not known: {TRANSACTION_VERSION} is the only feature"
        )
    may_fall = update.allow_downgrade if version < KIND_SINCE else update.upgrade_type != UPGRADE
    await services.features.change(
        update.max_version_level, may_fall=may_fall, validate_only=request.validate_only
    )


def refuse(
    request: UpdateFeaturesRequest, version: int, code: ErrorCode, message: str
) -> UpdateFeaturesResponse:
    """Nothing but the code."""
    del request, version
    return UpdateFeaturesResponse(error_code=code, error_message=message)


API: Final = Api(
    key=57,
    versions=range(3),
    handle=handle,
    refuse=refuse,
    needs=(Whole(Operation.ALTER),),
)

"""A broker that stops asks the controller to move its leaderships to other brokers first.

The controller answers with the partitions that the broker still leads although another replica
could: it asks again after a pause, or at once when there is another controller, as often as the
settings allow, and then stops in any case.
Partitions of one replica stay where they are. Where no other broker lives there is nothing to move.
"""

import asyncio
from contextlib import suppress

import structlog

from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.config.broker import BrokerConfig
from odradek.config.rows import broker as rows
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)

log = structlog.get_logger()


async def give_up_leaderships(
    cluster: MetadataCache,
    to_controller: ControllerRequests,
    config: BrokerConfig,
) -> None:
    """Returns once no leadership is left that another broker could have, or it was tried enough."""
    if not config[rows.CONTROLLED_SHUTDOWN_ENABLE] or not cluster.image.brokers.keys() - {
        cluster.me
    }:
        return
    controller = None
    for attempt in range(1 + config[rows.CONTROLLED_SHUTDOWN_MAX_RETRIES]):
        if attempt:
            await _pause(cluster, controller, config[rows.CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS])
        controller = cluster.image.controller
        try:
            remaining = await _ask(cluster, to_controller)
        except BrokerError as error:
            log.warning("controlled_shutdown.failed", error=str(error))
            continue
        if not remaining:
            log.info("controlled_shutdown.succeeded")
            return
        log.warning("controlled_shutdown.leads_still", partitions=remaining)


async def _pause(cluster: MetadataCache, asked: BrokerId | None, millis: Millis) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(millis / 1_000):
            await cluster.has_controller(other_than=asked)


async def _ask(cluster: MetadataCache, to_controller: ControllerRequests) -> int:
    """How many leaderships are left."""
    request = ControlledShutdownRequest(broker_id=cluster.me, broker_epoch=cluster.broker_epoch)
    response = await to_controller.ask(request)
    assert isinstance(response, ControlledShutdownResponse), response
    error = ErrorCode(response.error_code)
    if error is not ErrorCode.NONE:
        raise ControlledShutdownRefused(f"the controller answers {error.name}")
    return len(response.remaining_partitions)


class ControlledShutdownRefused(BrokerError):
    """The controller could not move the leaderships of this broker now."""

    code = ErrorCode.BROKER_NOT_AVAILABLE

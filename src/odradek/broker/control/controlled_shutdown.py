"""A broker that stops asks the controller to move its leaderships to other brokers first.

The controller answers with the partitions that the broker still leads although another replica
could: it asks again after a pause, or at once when there is another controller, as often as the
settings allow, and then stops in any case. A controller that hangs stays it until its session is
over; the next one is asked as soon as it is named, and none is waited for much longer than that.
Partitions of one replica stay where they are. Where no other broker lives there is nothing to move.
"""

import asyncio
from contextlib import suppress
from typing import Final

import structlog

from odradek.broker.control.metadata_cache import AnotherController, MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.config.broker import BrokerConfig
from odradek.config.rows import broker as rows
from odradek.config.rows import zookeeper as zookeeper_rows
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import SECOND, Millis
from odradek.peers.connection import ANSWER_MS
from odradek.wire.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
)

NEXT_PATIENCE: Final = Millis(10 * SECOND)
"""For the next controller to begin, and to move what this broker leads."""

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
    patience = max(ANSWER_MS, config[zookeeper_rows.ZOOKEEPER_SESSION_TIMEOUT_MS] + NEXT_PATIENCE)
    try:
        async with asyncio.timeout(patience / 1_000):
            await _ask_often(cluster, to_controller, config)
    except TimeoutError:
        log.warning("controlled_shutdown.failed", error=f"not done within {patience} ms")


async def _ask_often(
    cluster: MetadataCache, to_controller: ControllerRequests, config: BrokerConfig
) -> None:
    controller = None
    for attempt in range(1 + config[rows.CONTROLLED_SHUTDOWN_MAX_RETRIES]):
        if attempt:
            backoff = config[rows.CONTROLLED_SHUTDOWN_RETRY_BACKOFF_MS]
            with suppress(AnotherController):
                await cluster.while_controller(controller, asyncio.sleep(backoff / 1_000))
        controller = cluster.image.controller
        try:
            answer = _ask(cluster, to_controller)
            remaining = await cluster.while_controller(controller, answer)
        except BrokerError as error:
            log.warning("controlled_shutdown.failed", error=str(error))
            continue
        if not remaining:
            log.info("controlled_shutdown.succeeded")
            return
        log.warning("controlled_shutdown.leads_still", partitions=remaining)


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

"""`fetchers.describe`: leaders that the asked broker follows and cannot reach.

Result: `unreached`, each with its `leader`, `for_ms`: how long it has not answered, the last
`error`, and the `partitions` that are followed there, by topic. A follower that has all there is
stays in the ISR all the same, until something is written.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import FETCHERS_DESCRIBE
from odradek.model.ids import by_topic


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """None where all answer."""
    check_broker(services, call)
    now = services.doors.clock.monotonic()
    return {
        "unreached": [
            {
                "leader": it.leader,
                "for_ms": now - it.since,
                "error": it.error,
                "partitions": by_topic(it.partitions),
            }
            for it in services.replica_fetchers.unreached()
        ]
    }


OPERATION: Final = Operation(FETCHERS_DESCRIBE, Decider.BROKER, run)

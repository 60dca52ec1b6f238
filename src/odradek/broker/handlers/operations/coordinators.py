"""`coordinators.describe`: partitions of groups and transactions that the asked broker must refuse.

Result: `unreadable`, each with its `topic`, its `partition` and `why` its log cannot be read.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import COORDINATORS_DESCRIBE


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """Of those that it leads; none where all are served."""
    check_broker(services, call)
    found = [*services.groups.unreadable(), *services.transactions.unreadable()]
    return {
        "unreadable": [
            {"topic": it.topic, "partition": it.partition, "why": why} for it, why in found
        ]
    }


OPERATION: Final = Operation(COORDINATORS_DESCRIBE, Decider.BROKER, run)

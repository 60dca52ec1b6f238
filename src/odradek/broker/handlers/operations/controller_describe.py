"""`controller.describe`: which broker is the controller, since which epoch, and what it has to do.

Result: `controller`, `controller_epoch`, `events_waiting`, `brokers` with the epochs of their
`registrations`, `shutting_down`, and the numbers of `topics`, `partitions`, `offline_partitions`,
`imbalanced_partitions`, `reassigning` partitions and topics `to_delete`.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation
from odradek.broker.services import Services
from odradek.controller.events import DescriptionAsked
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import CONTROLLER_DESCRIBE


async def run(services: Services, _call: Call) -> Mapping[str, Json]:
    """What the controller says of itself."""
    backlog = services.controller.backlog
    answer: Mapping[str, Json] = await services.controller.ask(DescriptionAsked())
    return {**answer, "events_waiting": backlog}


OPERATION: Final = Operation(CONTROLLER_DESCRIBE, Decider.CONTROLLER, run)

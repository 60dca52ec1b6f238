"""`controller.placement`: where the controller is, shall be and was. Served without a controller.

Result: `controller` (null: there is none), `preferred` brokers that are registered, `fallback`,
`wish` (null, or its `id`, `broker`, `epoch`, `why` and whether it is `handed_over`), the broker
that is `ready`, and of the last `controllers` and `wishes` what became of them.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import CONTROLLER_PLACEMENT


async def run(services: Services, _call: Call) -> Mapping[str, Json]:
    """As it stands in ZooKeeper."""
    return await services.controller_admin.placement()


OPERATION: Final = Operation(CONTROLLER_PLACEMENT, Decider.BROKER, run)

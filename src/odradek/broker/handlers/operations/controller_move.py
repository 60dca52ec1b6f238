"""`controller.move`: the wish that the controller shall be at another broker (KIP-39).

Argument: `broker`. Result: `wish`, its id, and `epoch`, in which it was made. The broker that is
asked writes it, whichever broker is the controller; `controller.placement` tells what has become of
it.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import CONTROLLER_MOVE
from odradek.model.ids import BrokerId


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """Once it stands in ZooKeeper."""
    broker = BrokerId(call.arguments.integer("broker", low=0))
    wish = await services.controller_admin.wish(broker, "an operator wished it")
    return {"wish": wish.id, "epoch": wish.epoch}


OPERATION: Final = Operation(CONTROLLER_MOVE, Decider.BROKER, run)

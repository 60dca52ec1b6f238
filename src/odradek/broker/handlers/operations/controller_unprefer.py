"""`controller.unprefer`: a broker that is gone is preferred as the controller no longer.

Argument: `broker`. Result: `was`, whether a setting in the cluster preferred it. A broker that is
registered changes its own settings; one that is gone cannot.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import AnotherBroker, Call, Decider, Operation
from odradek.broker.services import Services
from odradek.config.rows.controller import PREFERRED_CONTROLLER
from odradek.metadata.json_body import Json
from odradek.metadata.znodes.settings import Entity, EntityType
from odradek.model.admin_operations import CONTROLLER_UNPREFER
from odradek.model.ids import BrokerId


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """Once it stands in ZooKeeper; nothing is written for a broker that was not preferred."""
    broker = BrokerId(call.arguments.integer("broker", low=0))
    if broker in services.cluster.image.brokers:
        raise AnotherBroker(f"broker {broker} is registered: ask that one to alter its settings")
    name, was = PREFERRED_CONTROLLER.name, False

    def change(before: Mapping[str, str]) -> Mapping[str, str]:
        nonlocal was
        was = before.get(name) == "true"
        return {**before, name: "false"} if was else before

    entity = Entity(EntityType.BROKERS, str(broker))
    await services.config_admin.make(entity, change, validate_only=False)
    return {"was": was}


OPERATION: Final = Operation(CONTROLLER_UNPREFER, Decider.BROKER, run)

"""`cluster.health`: what is wrong in the cluster, as its controller sees it.

Result: `healthy`, `controller`, `controller_epoch`, and `problems`: each a `cause` with its
`kind` (`model.causes`), the `brokers` that it is about, and its `effects`, which name partitions as
`{"topic": [0, 1]}`.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation
from odradek.broker.services import Services
from odradek.controller.events import HealthAsked
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import CLUSTER_HEALTH


async def run(services: Services, _call: Call) -> Mapping[str, Json]:
    """The controller's view."""
    answer: Mapping[str, Json] = await services.controller.ask(HealthAsked())
    return answer


OPERATION: Final = Operation(CLUSTER_HEALTH, Decider.CONTROLLER, run)

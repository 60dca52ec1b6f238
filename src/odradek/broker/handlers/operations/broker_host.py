"""`broker.host`: the broker that is asked, as its machine and its process are.

Result: `version` of Odradek, `clock` in milliseconds since 1970, `hostname`, the `listeners` that
it advertises (`name`, `host`, `port`, `protocol`), and the `figures` of its process that the system
tells, under the names of the metrics.
"""

from collections.abc import Mapping
from typing import Final

from odradek import __version__
from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import BROKER_HOST


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """Nothing of it is remembered from an earlier call."""
    check_broker(services, call)
    me = services.cluster.image.brokers.get(services.broker_id)
    return {
        "version": __version__,
        "clock": services.doors.clock.wall(),
        "hostname": services.doors.hostname,
        "listeners": [
            {"name": it.listener, "host": it.host, "port": it.port, "protocol": it.protocol.name}
            for it in (() if me is None else me.endpoints)
        ],
        "figures": {name: int(it) for name, it in services.doors.process_figures().items()},
    }


OPERATION: Final = Operation(BROKER_HOST, Decider.BROKER, run)

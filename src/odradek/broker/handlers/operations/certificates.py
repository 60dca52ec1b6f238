"""`certificates.describe`: the certificates of the listeners of the broker that is asked.

Result: `certificates`, each with its `listener`, when it `ends`, and the milliseconds that are
`left` by the broker's clock, negative once it has ended. `soon` says whether it should be renewed.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.network.certificates import SOON
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import CERTIFICATES_DESCRIBE


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """Those whose ends are known."""
    check_broker(services, call)
    now = services.doors.clock.wall()
    return {
        "certificates": [
            {"listener": listener, "ends": ends, "left": ends - now, "soon": ends - now <= SOON}
            for listener, ends in sorted(services.certificates.ends.items())
        ]
    }


OPERATION: Final = Operation(CERTIFICATES_DESCRIBE, Decider.BROKER, run)

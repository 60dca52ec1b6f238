"""`clients.watch`: who asks the broker how much, over so many `seconds` from now.

Result: `clients`, the busiest first, each with its `client_id`, `address`, `software`, the
`connections` by which it has asked, `requests`, `bytes_in`, `bytes_out` and `throttle_ms`: the
longest pause that a quota has imposed on it meanwhile, or that it is still in. One that pauses all
the time is listed, too. Other brokers that replicate from this one are clients as well.
"""

from collections.abc import Mapping
from typing import Final

from odradek.broker.handlers.operations.operation import Call, Decider, Operation, check_broker
from odradek.broker.network.client_watch import ClientWatch
from odradek.broker.services import Services
from odradek.metadata.json_body import Json
from odradek.model.admin_operations import CLIENTS_WATCH
from odradek.model.units import SECOND, Millis

SECONDS_MAX: Final = 60


async def run(services: Services, call: Call) -> Mapping[str, Json]:
    """As long as was asked for, or as the caller has patience."""
    check_broker(services, call)
    seconds = call.arguments.integer("seconds", low=1, high=SECONDS_MAX)
    clock, watch = services.doors.clock, ClientWatch()
    with services.socket_server.watched(watch.answered):
        await clock.sleep_until(Millis(clock.monotonic() + min(seconds * SECOND, call.patience)))
    watch.add_paused(services.quotas.paused(), clock.monotonic())
    return {
        "clients": [
            {
                **name._asdict(),
                "software": asked.software,
                "connections": len(asked.connections),
                "requests": asked.requests,
                "bytes_in": asked.bytes_in,
                "bytes_out": asked.bytes_out,
                "throttle_ms": asked.throttle,
            }
            for name, asked in watch
        ]
    }


OPERATION: Final = Operation(CLIENTS_WATCH, Decider.BROKER, run)

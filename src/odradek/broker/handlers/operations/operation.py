"""What each module of this room says of its operation: its contract, who decides, what is done."""

from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import NamedTuple

from odradek.broker.services import Services
from odradek.metadata.json_body import Body, Json
from odradek.model.admin_operations import AdminOperation
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.units import Millis


class Decider(Enum):
    """Which broker carries an operation out."""

    CONTROLLER = "any broker forwards it to the controller"
    BROKER = "the broker that is asked"


class Call(NamedTuple):
    """One request for an operation."""

    resource: str
    arguments: Body
    patience: Millis


class Operation(NamedTuple):
    """One operation. A BrokerError that `run` raises is answered with its code and sentence."""

    contract: AdminOperation
    decider: Decider
    run: Callable[[Services, Call], Awaitable[Mapping[str, Json]]]


class AnotherBroker(BrokerError):
    """What belongs to one broker was asked of another one."""

    code = ErrorCode.INVALID_REQUEST


def check_broker(services: Services, call: Call) -> None:
    """Refuses what is meant for another broker."""
    if call.resource != str(services.broker_id):
        raise AnotherBroker(f"this is broker {services.broker_id}, not {call.resource[:20]}")

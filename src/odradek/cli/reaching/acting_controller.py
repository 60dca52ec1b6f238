"""Which broker is the controller, as far as that is known, and as of when.

Brokers name the last one that they have heard of: after it died, and while they do not reach
ZooKeeper. There its session outlives it by some seconds.
"""

import asyncio
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import click

from odradek.cli.reaching.naming import answer_seconds, silence
from odradek.cli.words.options import pasted
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import CONTROLLER_PLACEMENT
from odradek.model.errors import BrokerError, ErrorCode, UnsupportedVersion
from odradek.model.ids import BrokerId
from odradek.model.moments import moment_text

LATER: Final = "another broker becomes it once that session is over"


class Seen(NamedTuple):
    """What was found; `doubt` says why it is not known whether one acts, or that none does."""

    controller: int | None
    doubt: str = ""
    is_known: bool = True  # that it is this one, or that there is none

    def acts(self, broker: int) -> bool | None:
        """Whether this broker is the controller; None: that is not known."""
        if self.is_known or self.controller not in {None, broker}:
            return broker == self.controller
        return None


async def acting_controller(cluster: Cluster, last: int) -> Seen:
    """As it stands in ZooKeeper, if that can be asked; `last` is what a broker has heard."""
    try:
        placement = await operate(cluster, Wanted(CONTROLLER_PLACEMENT))
    except UnsupportedVersion:
        return Seen(last if last >= 0 else None)
    except BrokerError as error:
        if error.code is not ErrorCode.BROKER_NOT_AVAILABLE:
            raise
        heard = f"; the last that it heard of was broker {last}" if last >= 0 else ""
        doubt = f"which broker is the controller is not known: {error}{heard}"
        return Seen(None, doubt, is_known=False)
    return await seen_in(cluster, placement)


async def seen_in(cluster: Cluster, placement: Mapping[str, Any]) -> Seen:
    """What ZooKeeper says, unless the broker that it names does not answer."""
    number, now = placement["controller"], moment_text(cluster.world.clock.wall())
    if number is None:
        past = placement["controllers"]
        who = f"; the last was broker {past[-1]['broker']}" if past else ""
        return Seen(None, f"no broker is the controller, as of {now}{who}")
    try:
        async with asyncio.timeout(answer_seconds()):
            await cluster.broker(BrokerId(number))
    except (BrokerError, TimeoutError) as error:
        text = f"broker {number} is the controller in ZooKeeper, as of {now}, and does not answer"
        return Seen(number, f"{text}: {silence(error)}; {LATER}", is_known=False)
    return Seen(number)


def tell_doubt(seen: Seen) -> None:
    """Beside what is shown."""
    if seen.doubt:
        click.echo(pasted(f"odradek: {seen.doubt}"), err=True)

"""Which brokers do not reach ZooKeeper, and where they look for it."""

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from odradek.cli.reaching.naming import answer_seconds
from odradek.cli.replicas.throttle import among
from odradek.client.admin import admin
from odradek.client.admin.operations import Wanted, operate_on
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.admin_operations import CONTROLLER_PLACEMENT
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import BrokerId
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource

ADDRESS: Final = "zookeeper.connect"


class Reach(NamedTuple):
    """Brokers that have no connection to ZooKeeper, and those that have one; others do not say."""

    away: Sequence[BrokerId]
    there: Sequence[BrokerId]
    address: str | None

    @property
    def text(self) -> str:
        """A sentence; `away` is not empty."""
        where = self.address or "it"
        verb = "does" if len(self.away) == 1 else "do"
        if not self.there:
            return f"ZooKeeper is away: {among(self.away)} {verb} not reach {where}"
        verb = "has" if len(self.away) == 1 else "have"
        others = "reaches" if len(self.there) == 1 else "reach"
        told = f"{among(self.away)} {verb} no connection to ZooKeeper at {where}"
        return f"{told}; {among(self.there)} {others} it"


async def zookeeper_reach(cluster: Cluster) -> Reach:
    """As each of the brokers says of itself."""
    brokers = sorted(cluster.brokers)
    told = await asyncio.gather(*(_reaches(cluster, it) for it in brokers))
    by_answer = dict(zip(brokers, told, strict=True))
    away = [it for it, reaches in by_answer.items() if reaches is False]
    address = await _address(cluster, away[0]) if away else None
    return Reach(away, [it for it, reaches in by_answer.items() if reaches], address)


async def _reaches(cluster: Cluster, broker: BrokerId) -> bool | None:
    try:
        async with asyncio.timeout(answer_seconds()):
            await operate_on(await cluster.broker(broker), Wanted(CONTROLLER_PLACEMENT))
    except BrokerError as error:
        return False if error.code is ErrorCode.BROKER_NOT_AVAILABLE else None
    except TimeoutError:
        return None
    return True


async def _address(cluster: Cluster, broker: BrokerId) -> str | None:
    """As its settings have it, if we may read them."""
    resource = DescribeConfigsResource(admin.BROKER, str(broker), [ADDRESS])
    try:
        async with asyncio.timeout(answer_seconds()):
            answer = await (await cluster.broker(broker)).ask(DescribeConfigsRequest([resource]))
        (result,) = answer.results
        check(result.error_code, result.error_message)
    except (BrokerError, TimeoutError):
        return None
    return next((it.value for it in result.configs if it.name == ADDRESS), None)

"""Operations that only our brokers know: OdradekAdmin, with JSON objects both ways."""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from odradek.client.cluster import Cluster
from odradek.client.connection import Connection
from odradek.client.errors import check
from odradek.model.admin_operations import CLUSTER_NAME, AdminOperation
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND, Millis
from odradek.wire.messages.odradek_admin import OdradekAdminRequest


class Wanted(NamedTuple):
    """An operation on a resource; `broker` carries it out, or the one that decides."""

    operation: AdminOperation
    arguments: Mapping[str, Any] = {}
    resource: str = CLUSTER_NAME
    broker: BrokerId | None = None
    timeout: Millis = Millis(30 * SECOND)


async def operate(cluster: Cluster, wanted: Wanted) -> dict[str, Any]:
    """Its result. UnsupportedVersion: the brokers are Kafka's, or older than the operation."""

    async def attempt() -> dict[str, Any]:
        broker = wanted.broker
        return await operate_on(
            await (cluster.any() if broker is None else cluster.broker(broker)), wanted
        )

    return await cluster.patiently(attempt)


async def operate_on(connection: Connection, wanted: Wanted) -> dict[str, Any]:
    """Likewise, asked once, of the broker at the other end."""
    request = OdradekAdminRequest(
        operation=wanted.operation.name,
        resource_type=wanted.operation.resource,
        resource_name=wanted.resource,
        arguments=json.dumps(wanted.arguments) if wanted.arguments else None,
        timeout_ms=wanted.timeout,
    )
    answer = await connection.ask(request)
    check(answer.error_code, answer.error_message)
    result: dict[str, Any] = json.loads(answer.result or "{}")
    return result

"""What a cluster has agreed upon (KIP-584): described and altered.

`transaction.version` falls to 0 by way of 1. From then on clients that look begin no transaction in
version 2; those that are open are waited for, so that a Kafka 3.9 which coordinates afterwards
finds none of which it understands one half.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from odradek.client.admin import transactions
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.errors import UnsupportedVersion
from odradek.model.units import Millis
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest

UPGRADE: Final = 1
DOWNGRADE: Final = 2
TRANSACTION_VERSION: Final = "transaction.version"
WITHOUT_VERSION_2: Final = 1
DRAIN_PAUSE: Final = Millis(250)


class Feature(NamedTuple):
    """One, with the level that is finalized; 0 is none."""

    name: str
    level: int
    level_max: int  # that brokers know


async def describe(cluster: Cluster) -> list[Feature]:
    """All that brokers know."""
    answer = await (await cluster.any()).ask(ApiVersionsRequest("odradek", "1"))
    check(answer.error_code)
    levels = {it.name: it.max_version_level for it in answer.finalized_features}
    return [
        Feature(it.name, levels.get(it.name, 0), it.max_version) for it in answer.supported_features
    ]


async def alter(
    cluster: Cluster, name: str, level: int, told: Callable[[str], None] = lambda _: None
) -> None:
    """Sets its level, up or down; `told` hears which transactions are waited for."""
    before = next((it.level for it in await describe(cluster) if it.name == name), 0)
    if name == TRANSACTION_VERSION and level == 0 and before > 0:
        if before > WITHOUT_VERSION_2:
            await _alter(cluster, name, WITHOUT_VERSION_2, DOWNGRADE)
        await _drain(cluster, told)
    await _alter(cluster, name, level, UPGRADE if level >= before else DOWNGRADE)


async def _drain(cluster: Cluster, told: Callable[[str], None]) -> None:
    """Until every transaction that is open now has ended; its id may begin others."""
    clock = cluster.world.clock
    left = await transactions.started(cluster)
    while left:
        told(", ".join(sorted(left)))
        await clock.sleep_until(Millis(clock.monotonic() + DRAIN_PAUSE))
        now = await transactions.started(cluster)
        left = {name: it for name, it in left.items() if now.get(name) == it}


async def _alter(cluster: Cluster, name: str, level: int, kind: int) -> None:
    update = FeatureUpdateKey(name, level, upgrade_type=kind)
    request = UpdateFeaturesRequest(feature_updates=[update])
    controller = await cluster.controller()
    try:
        answer = await controller.ask(request)
    except UnsupportedVersion as error:
        raise UnsupportedVersion(
            "the controller is of a release that knows no features; upgrade every broker first"
        ) from error
    check(answer.error_code, answer.error_message)
    for row in answer.results:
        check(row.error_code, row.error_message, about=row.feature)

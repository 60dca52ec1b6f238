"""Cordoned brokers: those that get no new replicas, as a setting of the whole cluster says.

It stands in ZooKeeper and needs no broker but one that answers: a dead one can be cordoned, too.
"""

from typing import Final

from odradek.client import admin
from odradek.client.cluster import Cluster

SETTING: Final = "cordoned.brokers"
ALL_BROKERS: Final = ""


async def cordoned(cluster: Cluster) -> list[int]:
    """Their ids."""
    settings = await admin.describe_settings(cluster, admin.BROKER, ALL_BROKERS)
    (found,) = [it.value or "" for it in settings if it.name == SETTING] or [""]
    return sorted(int(it) for it in found.split(",") if it)


async def cordon(cluster: Cluster, broker: int) -> None:
    """Durably; a second time is no error."""
    await admin.alter_list(cluster, admin.BROKER, ALL_BROKERS, {SETTING: str(broker)})


async def uncordon(cluster: Cluster, broker: int) -> None:
    """It gets new replicas again."""
    await admin.alter_list(cluster, admin.BROKER, ALL_BROKERS, {SETTING: str(broker)}, take=True)

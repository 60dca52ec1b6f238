"""Cordoned brokers: those that get no new replicas, as a setting of the whole cluster says.

It stands in ZooKeeper, so a dead broker can be cordoned, too. The controller has to write
it, for it decides by it: of what another broker writes it hears later, and goes on as before.
"""

from typing import Final

from odradek.client.admin import admin
from odradek.client.cluster import Cluster

SETTING: Final = "cordoned.brokers"
ALL_BROKERS: Final = ""


async def cordoned(cluster: Cluster, *, asks_controller: bool = False) -> list[int]:
    """Their ids; only who decides by them has to ask the controller."""
    settings = await admin.describe_settings(
        cluster, admin.BROKER, ALL_BROKERS, asks_controller=asks_controller
    )
    (found,) = [it.value or "" for it in settings if it.name == SETTING] or [""]
    return sorted(int(it) for it in found.split(",") if it)


async def cordon(cluster: Cluster, broker: int) -> None:
    """Durably; a second time is no error."""
    await _alter(cluster, broker, take=False)


async def uncordon(cluster: Cluster, broker: int) -> None:
    """It gets new replicas again."""
    await _alter(cluster, broker, take=True)


async def _alter(cluster: Cluster, broker: int, *, take: bool) -> None:
    change = {SETTING: str(broker)}
    await admin.alter_list(
        cluster, admin.BROKER, ALL_BROKERS, change, take=take, asks_controller=True
    )

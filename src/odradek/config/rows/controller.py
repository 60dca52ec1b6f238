"""Which broker controls the cluster, and how it speaks to the others."""

from typing import Final

from odradek.config.kinds import ConfigType as Type
from odradek.config.kinds import duration, flag
from odradek.config.setting import BrokerSetting, Importance, Mode
from odradek.model.units import SECOND, Millis

CONTROLLER_SOCKET_TIMEOUT_MS: Final = BrokerSetting(
    "controller.socket.timeout.ms",
    duration(low=1, type=Type.INT),
    default=Millis(30 * SECOND),
    doc="How long the controller waits for a broker's answer.",
)
PREFERRED_CONTROLLER: Final = BrokerSetting(
    "preferred.controller",
    flag(),
    default=False,
    importance=Importance.HIGH,
    mode=Mode.PER_BROKER,
    ours=True,
    doc="Whether this broker should control the cluster when it can. The name is LinkedIn's.",
)
ALLOW_PREFERRED_CONTROLLER_FALLBACK: Final = BrokerSetting(
    "allow.preferred.controller.fallback",
    flag(),
    default=True,
    importance=Importance.HIGH,
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="Whether another broker may control the cluster while no preferred one lives. Where not, "
    "the cluster waits without a controller. The name is LinkedIn's.",
)

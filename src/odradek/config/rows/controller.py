"""Which broker controls the cluster, and how it speaks to the others."""

from typing import Final

from odradek.config.kinds import ConfigType as Type
from odradek.config.kinds import duration, flag, listing, number
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
PREFERRED_CONTROLLERS_MIN_COUNT: Final = BrokerSetting(
    "preferred.controllers.min.count",
    number(low=0),
    default=0,
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="A preferred broker that would leave fewer preferred ones behind is refused a controlled "
    "shutdown; it asks again as often as it may, then stops in any case. The name is LinkedIn's.",
)
PREFERRED_CONTROLLER_DEDICATED: Final = BrokerSetting(
    "preferred.controller.dedicated",
    flag(),
    default=False,
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="Whether preferred brokers get no replicas, neither from the controller nor from an "
    "operator.",
)
CORDONED_BROKERS: Final = BrokerSetting(
    "cordoned.brokers",
    listing(pattern=r"\d+", allowed="broker ids, separated by commas"),
    default=(),
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="Brokers that get no new replicas, neither from the controller nor from an operator. "
    "`odradek broker drain BROKER` and `undrain` set it; the word is Kafka's for log dirs.",
)
PREFERRED_CONTROLLER_SETTLE_MS: Final = BrokerSetting(
    "preferred.controller.settle.ms",
    duration(low=0, type=Type.INT),
    default=Millis(30 * SECOND),
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="How long a preferred broker must have been up, before the controller moves to it from "
    "a broker that is not preferred. A broker that restarts again and again never gets it.",
)
CONTROLLER_HANDOVER_LEASE_MS: Final = BrokerSetting(
    "controller.handover.lease.ms",
    duration(low=100, type=Type.INT),
    default=Millis(2 * SECOND),
    mode=Mode.CLUSTER_WIDE,
    ours=True,
    doc="How long a broker that is to be the next controller may hold the others up: the present "
    "controller waits so long before it goes on itself, the others before they compete.",
)

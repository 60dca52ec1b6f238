"""The settings that the controller decides by, as they are at the moment of the decision."""

from collections.abc import Mapping

from odradek.broker.settings import Settings
from odradek.config.derived import inter_broker_listener_name
from odradek.config.rows import broker as broker_rows
from odradek.config.rows import controller, network, replication
from odradek.config.rows import topic as topic_rows
from odradek.metadata.nouns import Broker, Endpoint
from odradek.metadata.znodes.settings import EntityType
from odradek.model.ids import BrokerId
from odradek.model.units import Millis
from odradek.ports import Random


class ControllerPolicy:
    """Reads them from this broker's settings, which hear of every change."""

    def __init__(self, settings: Settings, random: Random) -> None:
        self.random = random
        self._settings = settings

    @property
    def may_delete(self) -> bool:
        """Whether topics may be deleted."""
        return self._settings.broker[broker_rows.DELETE_TOPIC_ENABLE]

    @property
    def imbalance_percentage(self) -> int:
        """The share of a broker's preferred leaderships that may be elsewhere."""
        return self._settings.broker[replication.LEADER_IMBALANCE_PER_BROKER_PERCENTAGE]

    @property
    def topic_defaults(self) -> tuple[int, int]:
        """How many partitions and replicas a topic has that does not say so itself."""
        config = self._settings.broker
        return config[broker_rows.NUM_PARTITIONS], config[broker_rows.DEFAULT_REPLICATION_FACTOR]

    def check_settings(self, settings: Mapping[str, str]) -> None:
        """Refuses settings that a topic may not have."""
        self._settings.broker.topic_defaults.checked(settings)

    def unclean(self, topic: str) -> bool:
        """Whether losing records is allowed to get this topic a leader."""
        return self._settings.topic(topic)[topic_rows.UNCLEAN_LEADER_ELECTION_ENABLE]

    def min_isr(self, topic: str) -> int:
        """How large the ISR must be for acks=all."""
        return self._settings.topic(topic)[topic_rows.MIN_INSYNC_REPLICAS]

    @property
    def unreadable_settings(self) -> tuple[str, ...]:
        """Topics whose settings cannot be read."""
        unreadable = self._settings.unreadable
        return tuple(it.name for it in unreadable if it.type is EntityType.TOPICS)

    @property
    def is_preferred(self) -> bool:
        """Whether this broker shall be the controller while it can."""
        return self._settings.broker[controller.PREFERRED_CONTROLLER]

    @property
    def has_fallback(self) -> bool:
        """Whether a broker that is not preferred may be the controller."""
        return self._settings.broker[controller.ALLOW_PREFERRED_CONTROLLER_FALLBACK]

    @property
    def handover_lease(self) -> Millis:
        """How long a controller that has handed over waits to be replaced."""
        return self._settings.broker[controller.CONTROLLER_HANDOVER_LEASE_MS]

    @property
    def preferred_settle(self) -> Millis:
        """How long a preferred broker must have been up before the controller moves to it."""
        return self._settings.broker[controller.PREFERRED_CONTROLLER_SETTLE_MS]

    @property
    def preferred_min_count(self) -> int:
        """How many preferred brokers must stay when one of them stops."""
        return self._settings.broker[controller.PREFERRED_CONTROLLERS_MIN_COUNT]

    @property
    def is_dedicated(self) -> bool:
        """Whether preferred brokers get no replicas."""
        return self._settings.broker[controller.PREFERRED_CONTROLLER_DEDICATED]

    @property
    def cordoned(self) -> frozenset[BrokerId]:
        """Brokers that get no new replicas."""
        numbers: tuple[str, ...] = self._settings.broker[controller.CORDONED_BROKERS]
        return frozenset([BrokerId(int(it)) for it in numbers])

    def between_brokers(self, broker: Broker) -> Endpoint | None:
        """Where other brokers find a broker."""
        return broker.endpoint(inter_broker_listener_name(self._settings.broker))

    def for_controllers(self, broker: Broker) -> Endpoint | None:
        """Where a controller finds a broker: on a listener of its own, if there is one."""
        name = self._settings.broker[network.CONTROL_PLANE_LISTENER_NAME]
        found = None if name is None else broker.endpoint(name.upper())
        return found or self.between_brokers(broker)

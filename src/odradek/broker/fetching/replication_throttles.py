"""The two throttles of a broker, as its settings and those of topics say at the moment."""

from functools import partial
from typing import Final

from odradek.broker.settings import Settings
from odradek.config.kinds import JAVA_LONG_MAX
from odradek.config.rows import replication as rows
from odradek.config.rows import topic as topic_rows
from odradek.config.setting import BrokerSetting, TopicSetting
from odradek.model.ids import TopicPartition
from odradek.model.units import Bytes
from odradek.replication.throttle import ReplicationThrottle

Listed = tuple[str, ...]
EVERY: Final = "*"
THROTTLED_REPLICAS: Final = (
    topic_rows.LEADER_REPLICATION_THROTTLED_REPLICAS,
    topic_rows.FOLLOWER_REPLICATION_THROTTLED_REPLICAS,
)


class ReplicationThrottles:
    """`leader.replication.throttled.*` and `follower.replication.throttled.*`."""

    def __init__(self, settings: Settings) -> None:
        self.leading = _Throttle(
            settings,
            rows.LEADER_REPLICATION_THROTTLED_RATE,
            topic_rows.LEADER_REPLICATION_THROTTLED_REPLICAS,
        )
        self.following = _Throttle(
            settings,
            rows.FOLLOWER_REPLICATION_THROTTLED_RATE,
            topic_rows.FOLLOWER_REPLICATION_THROTTLED_REPLICAS,
        )


class _Throttle(ReplicationThrottle):
    """Watches what it is made of."""

    def __init__(
        self, settings: Settings, rate: BrokerSetting[Bytes], replicas: TopicSetting[Listed]
    ) -> None:
        super().__init__(partial(self._is_named, replicas))
        self._settings = settings
        self._numbers: dict[str, tuple[Listed, frozenset[int] | None]] = {}  # None: all
        self._setting = rate
        self.on_settings()

    def on_settings(self, _changed: object = None) -> None:
        """The rate may be another."""
        rate = self._settings.broker[self._setting]
        self.rate = None if rate == JAVA_LONG_MAX else rate

    def _is_named(self, setting: TopicSetting[Listed], partition: TopicPartition) -> bool:
        listed = self._settings.topic(partition.topic)[setting]
        if not listed:
            return False
        known = self._numbers.get(partition.topic)
        if known is None or known[0] is not listed:
            known = self._numbers[partition.topic] = listed, self._numbers_of_mine(listed)
        return known[1] is None or partition.partition in known[1]

    def _numbers_of_mine(self, listed: Listed) -> frozenset[int] | None:
        if EVERY in listed:
            return None
        pairs = (entry.split(":") for entry in listed)
        return frozenset(
            int(number) for number, broker in pairs if int(broker) == self._settings.me
        )

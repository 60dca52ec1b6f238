"""The znodes of the cluster as a whole: its controller, its id, its features, its counters."""

from enum import IntEnum
from typing import Final, NamedTuple

from odradek.metadata.json_body import INT64_MAX, Body, encoded, whole_number
from odradek.metadata.nouns import VersionRange
from odradek.model.ids import BrokerId, ProducerId
from odradek.model.positions import ControllerEpoch
from odradek.model.units import Timestamp

PRODUCER_IDS_PER_BLOCK: Final = 1000

PERSISTENT_PATHS: Final = (
    "/consumers",
    "/brokers/ids",
    "/brokers/topics",
    "/config/changes",
    "/admin/delete_topics",
    "/brokers/seqid",
    "/isr_change_notification",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/config/topics",
    "/config/clients",
    "/config/users",
    "/config/brokers",
    "/config/ips",
)
"""What a broker makes at its start, with all that is above it, where it is missing."""


class ControllerZnode:
    """Ephemeral: which broker is the controller. The one that creates it is."""

    PATH: Final = "/controller"

    @staticmethod
    def encode(broker: BrokerId, now: Timestamp) -> bytes:
        """Version 2; the epoch of a KRaft controller is that of a cluster which has none."""
        return encoded(
            {"version": 2, "brokerid": broker, "timestamp": str(now), "kraftControllerEpoch": -1}
        )

    @classmethod
    def decode(cls, data: bytes | None) -> BrokerId:
        """The controller."""
        return BrokerId(Body.parse(cls.PATH, data).integer("brokerid", low=0))


class ControllerEpochZnode:
    """Counts the controllers. Its version guards every write of the one who is."""

    PATH: Final = "/controller_epoch"

    @staticmethod
    def encode(epoch: ControllerEpoch) -> bytes:
        """The number, as text."""
        return str(epoch).encode()

    @classmethod
    def decode(cls, data: bytes | None) -> ControllerEpoch:
        """The newest controller's epoch."""
        return ControllerEpoch(whole_number(cls.PATH, data))


class ClusterIdZnode:
    """The name that tells this cluster from every other, for good."""

    PATH: Final = "/cluster/id"

    @staticmethod
    def encode(cluster_id: str) -> bytes:
        """Its version is a text, unlike all the others."""
        return encoded({"version": "1", "id": cluster_id})

    @classmethod
    def decode(cls, data: bytes | None) -> str:
        """The cluster's id."""
        return Body.parse(cls.PATH, data).text("id")


class BrokerSequenceZnode:
    """Its version draws numbers for brokers that have none: a write of nothing returns the next."""

    PATH: Final = "/brokers/seqid"


class ProducerIdBlock(NamedTuple):
    """Producer ids that one broker may hand out: from `first` to `last`, both included."""

    broker: BrokerId
    first: ProducerId
    last: ProducerId


class ProducerIdBlockZnode:
    """The newest block of producer ids; the next one begins behind it."""

    PATH: Final = "/latest_producer_id_block"

    @staticmethod
    def encode(block: ProducerIdBlock) -> bytes:
        """The ids are texts: JavaScript's numbers are too small for them."""
        return encoded(
            {
                "version": 1,
                "broker": block.broker,
                "block_start": str(block.first),
                "block_end": str(block.last),
            }
        )

    @classmethod
    def decode(cls, data: bytes | None) -> ProducerIdBlock | None:
        """The newest block; None before there is one: the znode is made empty."""
        if not data:
            return None
        body = Body.parse(cls.PATH, data)
        first = body.integer_text("block_start", low=0)
        last = body.integer_text("block_end", low=first, high=INT64_MAX)
        return ProducerIdBlock(
            BrokerId(body.integer("broker", low=0)), ProducerId(first), ProducerId(last)
        )


class FeatureStatus(IntEnum):
    """Whether the features of the znode hold."""

    DISABLED = 0
    ENABLED = 1


class Features(NamedTuple):
    """The versions of features that the whole cluster has agreed upon (KIP-584)."""

    status: FeatureStatus
    levels: tuple[tuple[str, VersionRange], ...] = ()


class FeatureZnode:
    """Which features the cluster has. In version 2 a feature has a highest version only."""

    PATH: Final = "/feature"

    @staticmethod
    def encode(features: Features) -> bytes:
        """Version 2, which Kafka writes from 3.2 on."""
        levels = {name: {"max_version_level": level.high} for name, level in features.levels}
        return encoded({"features": levels, "version": 2, "status": features.status.value})

    @classmethod
    def decode(cls, data: bytes | None) -> Features:
        """Both versions; a lowest version that is not there is that of the highest."""
        body = Body.parse(cls.PATH, data)
        body.integer("version", low=1)
        levels = body.body("features")
        status = FeatureStatus(body.integer("status", low=0, high=1))
        return Features(status, tuple((name, _level(levels, name)) for name in levels.names()))


def _level(levels: Body, name: str) -> VersionRange:
    level = levels.body(name)
    high = level.integer("max_version_level", low=0)
    has_low = level.has("min_version_level")
    return VersionRange(
        level.integer("min_version_level", low=0, high=high) if has_low else high, high
    )

"""The options `kafka.*`: how brokers are reached, and how much is fetched at a time.

A setting of Kafka's clients that means something for ours is honoured, with Kafka's name and, where
nothing speaks against it, with Kafka's default. Those that Spark's connector refuses are refused.
Settings that describe the Java client (its buffers, its threads, its groups) have no effect.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from odradek.client.addresses import addresses
from odradek.model.errors import InvalidSetting
from odradek.model.units import MIB, MINUTE, Bytes, Millis
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.given import KAFKA, GivenOptions

CLIENT_ID: Final = "odradek-spark"
FETCH_BYTES_MAX: Final = Bytes(50 * MIB)
PARTITION_FETCH_BYTES_MAX: Final = Bytes(8 * MIB)
FETCH_WAIT_MS_MAX: Final = Millis(500)
REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auto.offset.reset": "use option 'startingOffsets': Spark keeps the offsets",
        "key.deserializer": "keys are bytes; decode them with functions of DataFrames",
        "value.deserializer": "values are bytes; decode them with functions of DataFrames",
        "key.serializer": "keys must be strings or bytes; encode them with functions of DataFrames",
        "value.serializer": "values must be strings or bytes; encode them as such",
        "enable.auto.commit": "Spark keeps the offsets",
        "interceptor.classes": "an interceptor is a Java class",
    }
)
"""What Spark's connector refuses, with the reason."""
ISOLATION_LEVELS: Final = ("read_uncommitted", "read_committed")


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """What a task needs to read from the cluster or to write to it."""

    bootstrap: str
    client_id: str = CLIENT_ID
    committed_only: bool = False
    fetch_bytes_max: Bytes = FETCH_BYTES_MAX
    partition_fetch_bytes_max: Bytes = PARTITION_FETCH_BYTES_MAX
    fetch_wait_ms_max: Millis = FETCH_WAIT_MS_MAX
    patience_ms: Millis = MINUTE
    """For how long a broker that is gone, or a partition without a leader, is asked again."""


def read_client(given: GivenOptions) -> ClientOptions:
    """The options `kafka.*` of a reader or writer."""
    for name, reason in REFUSED.items():
        if given.kafka(name) is not None:
            raise InvalidOption(f"option '{KAFKA}{name}' is not supported: {reason}")
    bootstrap = given.kafka("bootstrap.servers")
    if bootstrap is None or not bootstrap.strip():
        raise InvalidOption("option 'kafka.bootstrap.servers' must be given")
    try:
        addresses(bootstrap)
    except InvalidSetting as error:
        raise InvalidOption(f"option 'kafka.bootstrap.servers': {error}") from error
    protocol = given.kafka("security.protocol")
    if protocol is not None and protocol.strip().upper() != "PLAINTEXT":
        raise InvalidOption(
            f"option 'kafka.security.protocol': only PLAINTEXT is supported, not {protocol!r}"
        )
    isolation = (given.kafka("isolation.level") or ISOLATION_LEVELS[0]).strip().lower()
    if isolation not in ISOLATION_LEVELS:
        raise InvalidOption(
            f"option 'kafka.isolation.level' must be one of {', '.join(ISOLATION_LEVELS)}, "
            f"not {isolation!r}"
        )
    return ClientOptions(
        bootstrap.strip(),
        given.kafka("client.id") or CLIENT_ID,
        isolation == ISOLATION_LEVELS[1],
        Bytes(given.kafka_number("fetch.max.bytes", FETCH_BYTES_MAX, least=1)),
        Bytes(given.kafka_number("max.partition.fetch.bytes", PARTITION_FETCH_BYTES_MAX, least=1)),
        Millis(given.kafka_number("fetch.max.wait.ms", FETCH_WAIT_MS_MAX)),
        Millis(given.kafka_number("default.api.timeout.ms", MINUTE, least=1)),
    )

"""The options `kafka.*`: how brokers are reached, and how much is fetched at a time.

A setting of Kafka's clients that means something for ours is honoured, with Kafka's name and, where
nothing speaks against it, with Kafka's default; `kafka_settings` says what becomes of the others.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from odradek.client.addresses import addresses
from odradek.model.errors import InvalidSetting
from odradek.model.units import MIB, MINUTE, Bytes, Millis
from odradek.pipelines.client_security import Secured, read_secured
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.given import KAFKA, GivenOptions, nearest
from odradek.pipelines.kafka_settings import (
    HONOURED,
    REFUSED,
    REFUSED_PREFIXES,
    WITHOUT_EFFECT,
    known,
)

CLIENT_ID: Final = "odradek-spark"
FETCH_BYTES_MAX: Final = Bytes(50 * MIB)
PARTITION_FETCH_BYTES_MAX: Final = Bytes(8 * MIB)
FETCH_WAIT_MS_MAX: Final = Millis(500)
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
    secured: Secured = field(default_factory=Secured)


def _refuse(names: Iterable[str]) -> None:
    """InvalidOption for a setting that Kafka's clients do not have, or that means nothing here."""
    for name in names:
        if name in HONOURED or name in WITHOUT_EFFECT:
            continue
        if reason := REFUSED.get(name):
            raise InvalidOption(f"option '{KAFKA}{name}' is not supported: {reason}")
        near = nearest(name, (*HONOURED, *WITHOUT_EFFECT, *REFUSED))
        if not known(name):
            raise InvalidOption(f"Kafka's clients have no setting {name!r}{near}")
        (reason,) = (why for it, why in REFUSED_PREFIXES.items() if name.startswith(it))
        raise InvalidOption(f"option '{KAFKA}{name}' is not supported: {reason}{near}")


def read_client(given: GivenOptions) -> ClientOptions:
    """The options `kafka.*` of a reader or writer."""
    _refuse(given.kafka_names())
    bootstrap = given.kafka("bootstrap.servers")
    if bootstrap is None or not bootstrap.strip():
        raise InvalidOption("option 'kafka.bootstrap.servers' must be given")
    try:
        addresses(bootstrap)
    except InvalidSetting as error:
        raise InvalidOption(f"option 'kafka.bootstrap.servers': {error}") from error
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
        read_secured(given),
    )

"""Every setting of Kafka's clients, and what it does for a source or sink of ours: the one table.

`docs/pipeline-options.md` shows it. A setting that is in none of these is mistyped.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.security import client_settings as security

HONOURED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bootstrap.servers": "needed",
        "client.id": "as in Kafka",
        "isolation.level": "as in Kafka",
        "fetch.max.bytes": "as in Kafka",
        "max.partition.fetch.bytes": "as in Kafka; 8 MB without it",
        "fetch.max.wait.ms": "as in Kafka",
        "default.api.timeout.ms": "how long a broker that is away is asked again",
        "compression.type": "of the sink's batches",
        "batch.size": "of the sink's batches",
        "transactional.id": "of the sink with `exactlyOnce`, and needed there; refused elsewhere",
        "transaction.timeout.ms": "of the sink with `exactlyOnce`; 15 minutes without it",
        **security.HONOURED,
    }
)

REFUSED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "auto.offset.reset": "use option 'startingOffsets': Spark keeps the offsets",
        "key.deserializer": "keys are bytes; decode them with functions of DataFrames",
        "value.deserializer": "values are bytes; decode them with functions of DataFrames",
        "key.serializer": "keys must be strings or bytes; encode them with functions of DataFrames",
        "value.serializer": "values must be strings or bytes; encode them as such",
        "enable.auto.commit": "Spark keeps the offsets",
        "interceptor.classes": "an interceptor is a Java class",
        "partitioner.class": "a partitioner is a Java class; give the rows a column 'partition'",
    }
)
"""With the reason: the first seven are those that Spark's connector refuses."""

REFUSED_PREFIXES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "ssl.": "a setting of security that is not honoured here",
        "sasl.": "a setting of security that is not honoured here",
    }
)

WITHOUT_EFFECT: Final = security.WITHOUT_EFFECT | frozenset(
    {
        "acks",
        "allow.auto.create.topics",
        "auto.commit.interval.ms",
        "auto.include.jmx.reporter",
        "buffer.memory",
        "check.crcs",
        "client.dns.lookup",
        "client.rack",
        "compression.gzip.level",
        "compression.lz4.level",
        "compression.zstd.level",
        "connections.max.idle.ms",
        "delivery.timeout.ms",
        "enable.idempotence",
        "enable.metrics.push",
        "exclude.internal.topics",
        "fetch.min.bytes",
        "group.id",
        "group.instance.id",
        "group.protocol",
        "group.remote.assignor",
        "heartbeat.interval.ms",
        "linger.ms",
        "max.block.ms",
        "max.in.flight.requests.per.connection",
        "max.poll.interval.ms",
        "max.poll.records",
        "max.request.size",
        "metadata.max.age.ms",
        "metadata.max.idle.ms",
        "metadata.recovery.rebootstrap.trigger.ms",
        "metadata.recovery.strategy",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "partition.assignment.strategy",
        "partitioner.adaptive.partitioning.enable",
        "partitioner.availability.timeout.ms",
        "partitioner.ignore.keys",
        "receive.buffer.bytes",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "request.timeout.ms",
        "retries",
        "retry.backoff.max.ms",
        "retry.backoff.ms",
        "security.providers",
        "send.buffer.bytes",
        "session.timeout.ms",
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    }
)
"""They describe a client of Java's: its buffers, threads, groups and stores. The sink waits for all
replicas that are in sync, and every batch that is read is checked."""


def known(name: str) -> bool:
    """Whether Kafka's clients have it; other clients have more."""
    tables = (HONOURED, REFUSED, WITHOUT_EFFECT)
    return any(name in it for it in tables) or name.startswith(tuple(REFUSED_PREFIXES))

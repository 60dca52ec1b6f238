"""Settings of Kafka's clients: from `-X`, the environment, `--command-config` and the context.

Those that this command honours are in `HONOURED`. Others of Kafka's names change how a long-lived
client works and nothing about a command's result: a file may hold them, `-X` warns. Those of TLS
and SASL have the names of Java's clients; what cannot be honoured of them is refused.
"""

import os
from pathlib import Path
from typing import Final

import click

from odradek.cli.reaching.context_file import ContextFile
from odradek.cli.reaching.outside import outside_of_process
from odradek.cli.words.failing import MISUSED, Failed, nearest
from odradek.cli.words.options import options
from odradek.config.findings import Given, refuse
from odradek.config.properties import parse
from odradek.config.providers import PROVIDERS, is_of_providers, resolve
from odradek.security import client_settings as security
from odradek.security.jaas import CLASSES

DEFAULT_ADDRESS: Final = "127.0.0.1:9092"
BOOTSTRAP: Final = "bootstrap.servers"
ADMIN_TOKEN: Final = "admin.listener.token"  # noqa: S105 - its name
BOOTSTRAP_VARIABLE: Final = "ODRADEK_BOOTSTRAP"

HONOURED: Final = {
    BOOTSTRAP: "Brokers to connect to first.",
    PROVIDERS: "Where values such as ${file:/run/secrets/client:password} stand (KIP-297).",
    "client.id": "The name by which brokers count and log this client.",
    "request.timeout.ms": "How long the cluster is waited for; --timeout comes first.",
    "default.api.timeout.ms": "Likewise.",
    "acks": "produce: which replicas must have a record.",
    "compression.type": "produce: none, gzip, snappy, lz4 or zstd.",
    "enable.idempotence": "produce: number the batches, so that none is stored twice.",
    "batch.size": "produce: bytes of records that are gathered for one request.",
    "linger.ms": "produce: how long a line may wait for others.",
    "group.id": "consume: as --group.",
    "auto.offset.reset": "consume: where a group begins that has committed nothing.",
    "isolation.level": "consume: read_committed leaves out what was aborted.",
    "session.timeout.ms": "consume: after how long a silent member leaves its group.",
    ADMIN_TOKEN: "debug bundle: the bearer token of the brokers' metrics.",
    **security.HONOURED,
}
"""What this command does with a setting."""

WITHOUT_EFFECT: Final = frozenset(
    """
    auto.commit.interval.ms allow.auto.create.topics buffer.memory check.crcs
    client.dns.lookup client.rack connections.max.idle.ms delivery.timeout.ms
    enable.auto.commit enable.metrics.push exclude.internal.topics fetch.max.bytes
    fetch.max.wait.ms fetch.min.bytes fetch.wait.max.ms group.instance.id group.protocol
    group.remote.assignor heartbeat.interval.ms interceptor.classes key.deserializer
    key.serializer max.block.ms max.in.flight.requests.per.connection
    max.partition.fetch.bytes max.poll.interval.ms max.poll.records max.request.size
    metadata.max.age.ms metadata.max.idle.ms metadata.recovery.strategy metric.reporters
    metrics.num.samples metrics.recording.level metrics.sample.window.ms
    partition.assignment.strategy partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms partitioner.class partitioner.ignore.keys
    queue.buffering.max.ms receive.buffer.bytes reconnect.backoff.max.ms
    reconnect.backoff.ms retries retry.backoff.max.ms retry.backoff.ms send.buffer.bytes
    socket.connection.setup.timeout.max.ms socket.connection.setup.timeout.ms
    socket.timeout.ms transaction.timeout.ms transactional.id value.deserializer
    value.serializer api.version.request broker.address.family debug log_level
    topic.metadata.refresh.interval.ms enable.partition.eof statistics.interval.ms
    """.split()  # noqa: SIM905 - sixty lines with a name each would hide the rest
)
"""Of Java's clients and of librdkafka."""

SYNONYMS: Final = {
    "metadata.broker.list": BOOTSTRAP,
    "compression.codec": "compression.type",
    "request.required.acks": "acks",
    "sasl.mechanisms": "sasl.mechanism",
    "queue.buffering.max.ms": "linger.ms",
}
"""librdkafka's names."""


def client_settings() -> dict[str, str]:
    """What holds for this call."""
    said = options()
    found = {**_of_context(said.context)}
    if said.command_config is not None:
        found |= of_file(said.command_config)
    if (address := os.environ.get(BOOTSTRAP_VARIABLE)) and not said.context:
        found[BOOTSTRAP] = address
    found |= _checked(said.settings, "-X")
    if said.bootstrap is not None:
        found[BOOTSTRAP] = said.bootstrap
    found = _resolved(found)
    return {BOOTSTRAP: DEFAULT_ADDRESS, **_of_jaas_file(found), **found}


def _resolved(found: dict[str, str]) -> dict[str, str]:
    """With what `config.providers` have, which are no business of anything else."""
    if PROVIDERS not in found:
        return found
    given = {name: Given(text, "settings of this client") for name, text in found.items()}
    resolved, findings = resolve(given, outside_of_process())
    refuse(findings)
    return {name: it.text for name, it in resolved.items() if not is_of_providers(name)}


def _of_jaas_file(found: dict[str, str]) -> dict[str, str]:
    """The login module of the file that `KAFKA_OPTS` names, where the settings need one."""
    mechanism = found.get(security.MECHANISM, "")
    if security.JAAS in found or mechanism not in CLASSES or not os.environ.get("KAFKA_OPTS"):
        return {}
    from odradek.config.sources import of_java
    from odradek.security.jaas_file import entry_of
    from odradek.security.zookeeper_access import JAAS_FILE

    file = of_java(os.environ).get(JAAS_FILE)
    if file is None:
        return {}
    where = f"{JAAS_FILE}={file}"
    try:
        data = Path(file).read_bytes()
    except OSError as error:
        raise Failed(f"{where}: {error.strerror}", code=MISUSED) from None
    module = entry_of(data, ["KafkaClient"], CLASSES[mechanism], where)
    return {} if module is None else {security.JAAS: module.text}


def of_file(path: Path) -> dict[str, str]:
    """A properties file's."""
    entries, _ = parse(path.read_bytes(), str(path))
    return _checked({entry.name: entry.value.strip() for entry in entries}, str(path))


def _of_context(name: str | None) -> dict[str, str]:
    file = ContextFile()
    if name is None:
        name = file.current
    return {} if name is None else _checked(file.settings(name), f"context {name}")


def _checked(settings: dict[str, str], where: str) -> dict[str, str]:
    found = {}
    for given, value in settings.items():
        name = SYNONYMS.get(given, given)
        if security.is_of_security(name) and name not in HONOURED:
            if name not in security.WITHOUT_EFFECT:
                raise _not_secure(given, where)
            continue
        if name in HONOURED or is_of_providers(name):
            found[name] = value
        elif name not in WITHOUT_EFFECT:
            near = nearest(name, {*HONOURED, *WITHOUT_EFFECT})
            text = f"{where}: Kafka's clients have no setting {given!r}{near}"
            if where == "-X":
                raise Failed(text, code=MISUSED)
            click.echo(f"odradek: warning: {text}", err=True)
        elif where == "-X":
            click.echo(f"odradek: warning: -X {given} has no effect on this command", err=True)
    return found


def _not_secure(setting: str, where: str) -> Failed:
    near = nearest(setting, security.HONOURED)
    return Failed(
        f"{where}: {setting}: a setting of security that is not honoured here{near}",
        "docs/security.md lists those that are",
        MISUSED,
    )

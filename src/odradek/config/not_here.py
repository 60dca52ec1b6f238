"""Kafka's settings that Odradek does not have: why, and whether a broker without them differs.

Every name of Kafka 3.9 is either a row of the table or falls under one of these. A name that falls
under none is not Kafka's: probably a typing error.
"""

import re
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Final, NamedTuple


class Absent(NamedTuple):
    """Some of Kafka's settings, as patterns of a shell."""

    names: tuple[str, ...]
    matters: bool
    """Whether somebody who set it gets something else than wanted."""
    why: str


ABSENT: Final = (
    Absent(
        (
            "process.roles",
            "controller.listener.names",
            "controller.quorum.*",
            "metadata.*",
            "broker.heartbeat.interval.ms",
            "broker.session.timeout.ms",
            "initial.broker.registration.timeout.ms",
            "early.start.listeners",
            "eligible.leader.replicas.enable",
            "server.max.startup.time.ms",
            "unstable.*",
            "sasl.mechanism.controller.protocol",
            "zookeeper.metadata.migration.*",
        ),
        matters=False,
        why="it belongs to KRaft mode; brokers are coordinated through ZooKeeper here",
    ),
    Absent(
        ("principal.builder.class", "listener.name.*.principal.builder.class"),
        matters=True,
        why="it names a class of Java; ssl.principal.mapping.rules makes names of certificates",
    ),
    Absent(
        ("sasl.kerberos.*", "listener.name.*.sasl.kerberos.*", "listener.name.*.*.sasl.kerberos.*"),
        matters=True,
        why="Kerberos is not spoken here; use SCRAM-SHA-512 over TLS, or certificates",
    ),
    Absent(
        (
            "sasl.oauthbearer.jwks.endpoint.retry.*",
            "sasl.oauthbearer.scope.claim.name",
            "listener.name.*.sasl.oauthbearer.jwks.endpoint.retry.*",
            "listener.name.*.sasl.oauthbearer.scope.claim.name",
        ),
        matters=False,
        why="keys are looked for twice a minute at most; scopes are not looked at",
    ),
    Absent(
        ("delegation.token.*",),
        matters=True,
        why="delegation tokens are not made here; use SCRAM-SHA-512 over TLS, or certificates",
    ),
    Absent(
        (
            "sasl.*.class",
            "listener.name.*.sasl.*",
            "listener.name.*.*.sasl.*",
            "ssl.engine.factory.class",
            "listener.name.*.ssl.*",
            "security.providers",
        ),
        matters=True,
        why="it names a class of Java, and none is run here",
    ),
    Absent(
        (
            "ssl.provider",
            "ssl.keymanager.algorithm",
            "ssl.trustmanager.algorithm",
            "ssl.secure.random.implementation",
            "ssl.allow.dn.changes",
            "ssl.allow.san.changes",
        ),
        matters=False,
        why="OpenSSL does this in its own way",
    ),
    Absent(
        ("sasl.login.*",),
        matters=False,
        why="tokens are asked for again in a way of our own",
    ),
    Absent(
        ("create.topic.policy.class.name", "alter.config.policy.class.name"),
        matters=True,
        why="it names a class of Java; nothing is checked by it",
    ),
    Absent(
        ("remote.*", "rsm.config.*", "rlmm.config.*"),
        matters=True,
        why="there is no tiered storage; logs stay in the log dirs",
    ),
    Absent(
        (
            "replication.quota.*",
            "alter.log.dirs.replication.quota.*",
        ),
        matters=False,
        why="these rates are measured in another way here",
    ),
    Absent(
        ("client.quota.callback.class",),
        matters=True,
        why="it names a class of Java; the quotas of users and clients hold",
    ),
    Absent(
        ("host.name", "port", "advertised.host.name", "advertised.port"),
        matters=True,
        why="Kafka has dropped them; set listeners and advertised.listeners instead",
    ),
    Absent(
        (
            "acks",
            "bootstrap.servers",
            "client.id",
            "clusters",
            "group.id",
            "key.converter*",
            "value.converter*",
            "config.storage.*",
            "offset.storage.*",
            "status.storage.*",
            "plugin.path",
            "*->*",
        ),
        matters=True,
        why="it belongs to clients, or to Kafka Connect and MirrorMaker, which have files of "
        "their own",
    ),
    Absent(
        ("quota.producer.default", "quota.consumer.default"),
        matters=True,
        why="Kafka has dropped them; set a quota of the default user or client instead",
    ),
    Absent(
        ("group.consumer.*", "group.coordinator.*", "group.share.*", "share.*"),
        matters=False,
        why="groups use the classic protocol; clients that prefer another fall back to it, but "
        "those that insist (group.protocol=consumer) are refused",
    ),
    Absent(
        ("metric.reporters", "metrics.*", "kafka.metrics.*", "telemetry.max.bytes"),
        matters=False,
        why="metrics are served by admin.listener, as Prometheus reads them",
    ),
    Absent(
        ("log.initial.task.delay.ms",), matters=False, why="maintenance begins right after start"
    ),
    Absent(
        ("confluent.*", "cruise.control.*", "strimzi.*"),
        matters=True,
        why="it belongs to a product around Kafka",
    ),
)

SECRETS: Final = re.compile(
    r"pass|secret|jaas|token|credential|certificate|licen[cs]e$|user\.info$|(^|[._-])key$"
)
NUMBERS: Final = re.compile(
    r"[._](ms|seconds?|bytes|size|iterations|length|algorithm|type|location|path|class|enable|name"
    r"|url)$"
)
"""What a setting says about a secret is none."""
LOGIN: Final = re.compile(r"://[^/\s@]*:[^/\s@]+@")


def absent(name: str) -> Absent | None:
    """What is known of a setting that is not in the table."""
    for group in ABSENT:
        if any(fnmatchcase(name, pattern) for pattern in group.names):
            return group
    return None


def is_secret(name: str, value: str = "") -> bool:
    """Whether this value of an unknown setting might be one: by its name, or as a URL's login."""
    if LOGIN.search(value):
        return True
    return SECRETS.search(name.lower()) is not None and not NUMBERS.search(name.lower())


def near(name: str, known: tuple[str, ...]) -> str:
    """`; did you mean ...?` where a known name is near, otherwise nothing."""
    found = get_close_matches(name.lower(), known, n=1, cutoff=0.8)
    if not found:
        found = [it for it in known if it in {f"log.{name}", f"log.{name}.ms"}]
    return f"; did you mean {found[0]}?" if found else ""

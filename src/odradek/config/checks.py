"""Settings that must fit together, each with its reason: checked at start and at each change.

What Kafka refuses is refused here, and what could never work. What Kafka accepts although it will
hardly be meant is a warning: a file that starts Kafka starts Odradek, too.
"""

import operator
from collections.abc import Iterable
from ipaddress import ip_address
from itertools import combinations
from pathlib import PurePosixPath
from typing import Final

from odradek.config.broker import BrokerConfig
from odradek.config.derived import broker_id, log_dirs, zookeeper_is_embedded
from odradek.config.findings import Finding, Severity
from odradek.config.listener_checks import LISTENER_RULES
from odradek.config.rows import (
    broker,
    cleaner,
    groups,
    log,
    messages,
    network,
    replication,
    zookeeper,
)
from odradek.config.rows import zookeeper_security as of_zookeeper
from odradek.config.rule import Limit, Rule, broken
from odradek.model.ids import NO_BROKER
from odradek.model.units import MIB

LIMITS: Final = (
    Limit(
        replication.REPLICA_FETCH_WAIT_MAX_MS,
        operator.le,
        replication.REPLICA_SOCKET_TIMEOUT_MS,
        Severity.ERROR,
        "a follower would give up before its leader answers",
    ),
    Limit(
        replication.REPLICA_FETCH_WAIT_MAX_MS,
        operator.le,
        replication.REPLICA_LAG_TIME_MAX_MS,
        Severity.ERROR,
        "followers would leave the in-sync set while nothing is written",
    ),
    Limit(
        network.SOCKET_REQUEST_MAX_BYTES,
        operator.le,
        network.QUEUED_MAX_REQUEST_BYTES,
        Severity.ERROR,
        "the largest request would wait for room for ever",
    ),
    Limit(
        network.CONNECTION_FAILED_AUTHENTICATION_DELAY_MS,
        operator.lt,
        network.CONNECTIONS_MAX_IDLE_MS,
        Severity.ERROR,
        "a refused client would be cut off before it is told why",
    ),
    Limit(
        groups.GROUP_MIN_SESSION_TIMEOUT_MS,
        operator.le,
        groups.GROUP_MAX_SESSION_TIMEOUT_MS,
        Severity.ERROR,
        "no member could ask for a time between them",
    ),
    Limit(
        cleaner.LOG_CLEANER_MIN_COMPACTION_LAG_MS,
        operator.le,
        cleaner.LOG_CLEANER_MAX_COMPACTION_LAG_MS,
        Severity.ERROR,
        "a record would have to be compacted before it may be",
    ),
    Limit(
        messages.MESSAGE_MAX_BYTES,
        operator.lt,
        network.SOCKET_REQUEST_MAX_BYTES,
        Severity.WARNING,
        "the largest batch does not fit in a request",
    ),
    Limit(
        messages.MESSAGE_MAX_BYTES,
        operator.le,
        log.LOG_SEGMENT_BYTES,
        Severity.WARNING,
        "the largest batch does not fit in a segment",
    ),
    Limit(
        messages.MIN_INSYNC_REPLICAS,
        operator.le,
        broker.DEFAULT_REPLICATION_FACTOR,
        Severity.WARNING,
        "acks=all fails for topics that do not ask for more replicas",
    ),
)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches it."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


EVERY_ADDRESS: Final = frozenset({"", "::", "0.0.0.0"})  # noqa: S104 - compared


def _number(config: BrokerConfig) -> str | None:
    named, node = config[broker.BROKER_ID], config[broker.NODE_ID]
    if NO_BROKER not in {named, node} and named != node:
        return "they are two names for one number, and differ"
    drawn = config[broker.BROKER_ID_GENERATION_ENABLE]
    if broker_id(config) == NO_BROKER and not drawn:
        return "the broker has no number, and may not draw one"
    most = config[broker.RESERVED_BROKER_MAX_ID]
    if drawn and broker_id(config) > most:
        return (
            f"numbers above {most} are drawn; raise reserved.broker.max.id, "
            "or set broker.id.generation.enable=false"
        )
    return None


def _directories(config: BrokerConfig) -> str | None:
    named = log_dirs(config)
    if not named or not all(named):
        return "one of them must name directories, and nothing else"
    found = sorted(map(PurePosixPath, named))
    for one, other in combinations(found, 2):
        if one == other:
            return f"{one} stands there twice"
        if other.is_relative_to(one):
            return f"{other} is inside {one}, which would take it for a log"
    return None


def _cleaner_memory(config: BrokerConfig) -> str | None:
    threads = max(config[cleaner.LOG_CLEANER_THREADS], 1)
    if config[cleaner.LOG_CLEANER_DEDUPE_BUFFER_SIZE] // threads > MIB:
        return None
    return "there must be more than a megabyte for each thread"


def _coordination(config: BrokerConfig) -> str | None:
    if config[zookeeper.ZOOKEEPER_CONNECT] is None and not zookeeper_is_embedded(config):
        return "the broker needs the one or the other"
    return None


def _open_znodes(config: BrokerConfig) -> str | None:
    has_login = (
        config[of_zookeeper.JAVA_SECURITY_AUTH_LOGIN_CONFIG]
        and config[of_zookeeper.ZOOKEEPER_SASL_CLIENT]
    )
    has_tls = config[of_zookeeper.ZOOKEEPER_SSL_CLIENT_ENABLE]
    has_certificate = has_tls and config[of_zookeeper.ZOOKEEPER_SSL_KEYSTORE_LOCATION]
    if not config[zookeeper.ZOOKEEPER_SET_ACL] or has_login or has_certificate:
        return None
    return (
        "znodes have no owner where the broker has no name in ZooKeeper: it needs a JAAS file "
        "with a section Client, or TLS with a certificate of its own"
    )


def _unused_tls(config: BrokerConfig) -> str | None:
    if config[of_zookeeper.ZOOKEEPER_SSL_CLIENT_ENABLE]:
        return None
    if all(config[row] == row.default for row in of_zookeeper.OF_TLS):
        return None
    return "connections to ZooKeeper are not encrypted unless it is true; other settings say how"


def _open_zookeeper(config: BrokerConfig) -> str | None:
    if not zookeeper_is_embedded(config):
        return None
    if is_loopback(config[zookeeper.ZOOKEEPER_EMBEDDED_HOST]):
        return None
    has_users = config[of_zookeeper.JAVA_SECURITY_AUTH_LOGIN_CONFIG]
    has_tls = config[zookeeper.ZOOKEEPER_EMBEDDED_SSL_KEYSTORE_LOCATION]
    asks = has_tls and config[zookeeper.ZOOKEEPER_EMBEDDED_SSL_CLIENT_AUTH] == "required"
    if has_users or asks or config[zookeeper.ZOOKEEPER_EMBEDDED_OPEN]:
        return None
    return (
        "who reaches it there can change everything in ZooKeeper: it needs users (a JAAS file with "
        "a section Server) or certificates of clients; zookeeper.embedded.open=true has it open"
    )


def _open_admin(config: BrokerConfig) -> str | None:
    said = config[broker.ADMIN_LISTENER]
    if not said or is_loopback(said.rpartition(":")[0].strip("[]")):
        return None
    has_tls = config[broker.ADMIN_LISTENER_SSL_KEYSTORE_LOCATION] is not None
    has_token = config[broker.ADMIN_LISTENER_TOKEN] is not None
    if (has_tls and has_token) or config[broker.ADMIN_LISTENER_OPEN]:
        return None
    return (
        "who reaches it there can read metrics: it needs admin.listener.token and "
        "admin.listener.ssl.keystore.location; admin.listener.open=true has it open"
    )


def _addresses(config: BrokerConfig) -> str | None:
    everyone, some = network.MAX_CONNECTIONS_PER_IP, network.MAX_CONNECTIONS_PER_IP_OVERRIDES
    return "no client could connect" if config[everyone] == 0 and not config[some] else None


RULES: Final = (
    Rule(
        (broker.BROKER_ID, broker.NODE_ID, broker.BROKER_ID_GENERATION_ENABLE),
        Severity.ERROR,
        _number,
    ),
    Rule((log.LOG_DIRS, log.LOG_DIR), Severity.ERROR, _directories),
    Rule(
        (cleaner.LOG_CLEANER_DEDUPE_BUFFER_SIZE, cleaner.LOG_CLEANER_THREADS),
        Severity.ERROR,
        _cleaner_memory,
    ),
    Rule(
        (zookeeper.ZOOKEEPER_CONNECT, zookeeper.ZOOKEEPER_EMBEDDED), Severity.ERROR, _coordination
    ),
    Rule((zookeeper.ZOOKEEPER_SET_ACL,), Severity.ERROR, _open_znodes),
    Rule((of_zookeeper.ZOOKEEPER_SSL_CLIENT_ENABLE,), Severity.WARNING, _unused_tls),
    Rule((broker.ADMIN_LISTENER,), Severity.ERROR, _open_admin),
    Rule(
        (zookeeper.ZOOKEEPER_EMBEDDED_HOST, zookeeper.ZOOKEEPER_EMBEDDED),
        Severity.ERROR,
        _open_zookeeper,
    ),
    Rule(
        (network.MAX_CONNECTIONS_PER_IP, network.MAX_CONNECTIONS_PER_IP_OVERRIDES),
        Severity.ERROR,
        _addresses,
    ),
)

_CHECKS: Final = (*LIMITS, *RULES, *LISTENER_RULES)


def contradictions(config: BrokerConfig, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """What is wrong between settings that are right by themselves, according to `findings`."""
    wrong = frozenset(
        name for finding in findings if finding.severity is Severity.ERROR for name in finding.names
    )
    return broken(_CHECKS, config, wrong)

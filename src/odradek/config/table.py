"""All rows together: found by name, listed by subject in the order of the documentation."""

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeVar

from odradek.config.rows import (
    broker,
    cleaner,
    controller,
    groups,
    log,
    messages,
    network,
    replication,
    security,
    tokens,
    topic,
    transactions,
    zookeeper,
    zookeeper_security,
)
from odradek.config.setting import BrokerSetting, Setting, TopicSetting

S = TypeVar("S", bound=Setting[Any])

SUBJECTS: Final[tuple[tuple[str, ModuleType], ...]] = (
    ("The broker", broker),
    ("Listeners and connections", network),
    ("Security", security),
    ("Tokens of OAuth", tokens),
    ("Coordination", zookeeper),
    ("Names and TLS in ZooKeeper", zookeeper_security),
    ("Controller", controller),
    ("Replication", replication),
    ("Logs", log),
    ("Compaction", cleaner),
    ("Messages", messages),
    ("Consumer groups", groups),
    ("Transactions", transactions),
)
"""The broker's rows by subject, with the titles of the documentation."""


def rows_of(module: ModuleType, sort: type[S]) -> tuple[S, ...]:
    """The rows of one module, as they stand there."""
    return tuple(row for row in vars(module).values() if isinstance(row, sort))


def _by_name(rows: Iterable[S]) -> Mapping[str, S]:
    found: dict[str, S] = {}
    for row in rows:
        assert row.name not in found, f"{row.name} has two rows"
        found[row.name] = row
    return MappingProxyType(found)


BROKER_SETTINGS: Final[Mapping[str, BrokerSetting[Any]]] = _by_name(
    row for _, module in SUBJECTS for row in rows_of(module, BrokerSetting)
)
TOPIC_SETTINGS: Final[Mapping[str, TopicSetting[Any]]] = _by_name(rows_of(topic, TopicSetting))
LISTENER_SETTINGS: Final[Mapping[str, BrokerSetting[Any]]] = _by_name(
    (
        network.MAX_CONNECTIONS,
        network.MAX_CONNECTION_CREATION_RATE,
        *security.ON_LISTENERS,
        *tokens.ON_LISTENERS,
    )
)
"""What one listener may set for itself, as `listener.name.<its name in lower case>.<setting>`."""
LISTENER_PREFIX: Final = "listener.name."
_JAAS = re.compile(r"([^.]+)\.([a-z0-9-]+)\.sasl\.jaas\.config")
_HANDLER = re.compile(r"([^.]+)\.oauthbearer\.(sasl\.(?:server|login)\.callback\.handler\.class)")
_HANDLERS: Final = MappingProxyType(
    {
        it.name: it
        for it in (
            tokens.SASL_SERVER_CALLBACK_HANDLER_CLASS,
            tokens.SASL_LOGIN_CALLBACK_HANDLER_CLASS,
        )
    }
)


def on_listener(name: str) -> tuple[str, BrokerSetting[Any]] | None:
    """Whose setting `listener.name.internal.max.connections` is: INTERNAL's, and which row.

    A login module belongs to a listener and a mechanism: `INTERNAL/PLAIN`.
    """
    if not name.startswith(LISTENER_PREFIX):
        return None
    rest = in_lower_case(name).removeprefix(LISTENER_PREFIX)
    if (match := _JAAS.fullmatch(rest)) is not None:
        return f"{match[1].upper()}/{match[2].upper()}", security.SASL_JAAS_CONFIG
    if (match := _HANDLER.fullmatch(rest)) is not None:
        return match[1].upper(), _HANDLERS[match[2]]
    listener, _, base = rest.partition(".")
    setting = LISTENER_SETTINGS.get(base)
    return None if setting is None else (listener.upper(), setting)


def in_lower_case(name: str) -> str:
    """The setting of a listener as Kafka calls it, which knows no capitals in it."""
    return name.lower() if name.startswith(LISTENER_PREFIX) else name


def synonyms(setting: BrokerSetting[Any]) -> tuple[BrokerSetting[Any], ...]:
    """The settings that say the same in other units, this one among them, by precedence."""
    return log.SYNONYMS.get(setting, (setting,))

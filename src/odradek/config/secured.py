"""How each listener is secured: what counts there, of its own settings and of those for all."""

from typing import Any, TypeVar, cast

from odradek.config.broker import BrokerConfig
from odradek.config.derived import inter_broker_listener_name
from odradek.config.kinds import Secret
from odradek.config.listeners import SecurityProtocol
from odradek.config.rows import broker, network, security, zookeeper, zookeeper_security
from odradek.config.setting import BrokerSetting

T = TypeVar("T")


def on(config: BrokerConfig, listener: str, setting: BrokerSetting[T]) -> T:
    """What holds for a listener."""
    own = config.on_listeners(setting)
    return own[listener] if listener in own else config[setting]


def protocol_of(config: BrokerConfig, listener: str) -> SecurityProtocol:
    """What a listener speaks; PLAINTEXT where nothing is said, which is refused at start."""
    known = config[network.LISTENER_SECURITY_PROTOCOL_MAP]
    return known.get(listener, SecurityProtocol.PLAINTEXT)


def between_brokers(config: BrokerConfig) -> SecurityProtocol:
    """What brokers speak among themselves."""
    return protocol_of(config, inter_broker_listener_name(config))


def tls_texts(config: BrokerConfig, listener: str) -> dict[str, str]:
    """A listener's settings of TLS by their names, secrets included.

    With SASL a client has a name already: its certificate is asked for only where the listener
    says so itself, as in Kafka (KIP-684).
    """
    found = {
        row.name: _text(row, value)
        for row in security.OF_TLS
        if (value := on(config, listener, cast("BrokerSetting[Any]", row))) is not None
    }
    is_said = listener in config.on_listeners(security.SSL_CLIENT_AUTH)
    if protocol_of(config, listener) is SecurityProtocol.SASL_SSL and not is_said:
        del found[security.SSL_CLIENT_AUTH.name]
    return found


def _text(row: BrokerSetting[Any], value: Any) -> str:
    return value.value if isinstance(value, Secret) else row.kind.text(value)


def zookeeper_texts(config: BrokerConfig) -> dict[str, str]:
    """What is said of connections to ZooKeeper, by the names of settings, secrets included."""
    rows: list[BrokerSetting[Any]] = [
        row for row in vars(zookeeper_security).values() if isinstance(row, BrokerSetting)
    ]
    rows.append(zookeeper.ZOOKEEPER_SET_ACL)
    return {row.name: _text(row, config[row]) for row in rows if config.is_set(row)}


def embedded_tls_texts(config: BrokerConfig) -> dict[str, str]:
    """The embedded server's settings of TLS, by the names of a listener's."""
    return _without_prefix(config, zookeeper.OF_EMBEDDED_TLS, "zookeeper.embedded.")


def admin_tls_texts(config: BrokerConfig) -> dict[str, str]:
    """The admin listener's settings of TLS, by the names of a listener's."""
    return _without_prefix(config, broker.ADMIN_LISTENER_OF_TLS, "admin.listener.")


def _without_prefix(
    config: BrokerConfig, rows: tuple[BrokerSetting[Any], ...], prefix: str
) -> dict[str, str]:
    return {
        row.name.removeprefix(prefix): _text(row, value)
        for row in rows
        if (value := config[row]) is not None
    }


def jaas_setting(listener: str, mechanism: str) -> str:
    """The name of the setting with a login module."""
    return f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"


def jaas_text(config: BrokerConfig, listener: str, mechanism: str) -> str | None:
    """The login module of a listener for a mechanism."""
    found = config.on_listeners(security.SASL_JAAS_CONFIG).get(f"{listener}/{mechanism}")
    return None if found is None else found.value

"""Listeners must fit together: names, ports, security, and who is told about them."""

import ipaddress
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from odradek.config.broker import BrokerConfig
from odradek.config.derived import advertised, advertises_automatically, inter_broker_listener_name
from odradek.config.findings import Severity
from odradek.config.listeners import HAS_SASL, MECHANISMS, NOT_SPOKEN, Listener
from odradek.config.rows import network, security, tokens, zookeeper_security
from odradek.config.rule import Rule
from odradek.config.secured import jaas_setting, jaas_text, on, protocol_of
from odradek.config.setting import BrokerSetting


def _names_and_ports(config: BrokerConfig) -> str | None:
    listeners = config[network.LISTENERS]
    return _name_twice(listeners) or _port_twice(listeners)


def _name_twice(listeners: Sequence[Listener]) -> str | None:
    names = [listener.name for listener in listeners]
    twice = sorted({name for name in names if names.count(name) > 1})
    return f"two listeners are named {', '.join(twice)}" if twice else None


def _port_twice(listeners: Sequence[Listener]) -> str | None:
    by_port: dict[int, list[str]] = defaultdict(list)
    for listener in listeners:
        if listener.port:  # of port 0 everyone gets another
            by_port[listener.port].append(listener.host)
    for port, hosts in by_port.items():
        versions = [_ip_version(host) for host in hosts]
        if len(hosts) > 1 and sorted(versions) != [4, 6]:
            return f"two listeners share port {port}; only an IPv4 and an IPv6 address may"
    return None


def _ip_version(host: str) -> int:
    try:
        return ipaddress.ip_address(host.partition("%")[0]).version
    except ValueError:
        return 0


def _security(config: BrokerConfig) -> str | None:
    known = config[network.LISTENER_SECURITY_PROTOCOL_MAP]
    names = [listener.name for listener in config[network.LISTENERS]]
    if missing := [name for name in names if name not in known]:
        return f"the map does not say how {', '.join(missing)} is secured"
    return None


def _login_modules(config: BrokerConfig) -> str | None:
    """Kafka passes over it, too, and a file with it seems to ask for a password."""
    if config[security.SASL_JAAS_CONFIG] is None:
        return None
    return "it counts only with a listener and a mechanism in its name"


def _logins(config: BrokerConfig) -> str | None:
    for listener in config[network.LISTENERS]:
        if protocol_of(config, listener.name) not in HAS_SASL:
            continue
        for mechanism in on(config, listener.name, security.SASL_ENABLED_MECHANISMS):
            if clause := _login(config, listener.name, mechanism):
                return clause
    return None


def _login(config: BrokerConfig, listener: str, mechanism: str) -> str | None:
    if mechanism in NOT_SPOKEN:
        return (
            f"listener {listener} is to offer {mechanism}: {NOT_SPOKEN[mechanism]}. "
            "Set sasl.enabled.mechanisms=SCRAM-SHA-512, or the protocol of the listener to SSL"
        )
    if mechanism not in MECHANISMS:
        return f"listener {listener}: there is no mechanism {mechanism[:40]}"
    if mechanism == "PLAIN" and not _may_have_module(config, listener, mechanism):
        return f"no client could log in: set {jaas_setting(listener, mechanism)}"
    return _tokens(config, listener) if mechanism == "OAUTHBEARER" else None


def _tokens(config: BrokerConfig, listener: str) -> str | None:
    """What is missing would have tokens believed that were made for somebody else."""
    waived = on(config, listener, tokens.SASL_OAUTHBEARER_UNCHECKED)
    needed: tuple[tuple[str, BrokerSetting[Any]], ...] = (
        ("keys", tokens.SASL_OAUTHBEARER_JWKS_ENDPOINT_URL),
        ("issuer", tokens.SASL_OAUTHBEARER_EXPECTED_ISSUER),
        ("audience", tokens.SASL_OAUTHBEARER_EXPECTED_AUDIENCE),
    )
    for what, setting in needed:
        if what not in waived and not on(config, listener, setting):
            also = "" if what == "keys" else f", or {what} in {tokens.PREFIX}unchecked"
            return (
                f"listener {listener}: tokens could not be told from forged ones: "
                f"set {setting.name}{also}"
            )
    return None


def _may_have_module(config: BrokerConfig, listener: str, mechanism: str) -> bool:
    """A JAAS file is read at the start."""
    file = config[zookeeper_security.JAVA_SECURITY_AUTH_LOGIN_CONFIG]
    return file is not None or jaas_text(config, listener, mechanism) is not None


def _own_login(config: BrokerConfig) -> str | None:
    listener, mechanism = (
        inter_broker_listener_name(config),
        config[security.SASL_MECHANISM_INTER_BROKER_PROTOCOL],
    )
    if protocol_of(config, listener) not in HAS_SASL:
        return None
    offered = on(config, listener, security.SASL_ENABLED_MECHANISMS)
    if mechanism not in offered:
        text = f"listener {listener} does not offer it (sasl.enabled.mechanisms)"
        spoken = [it for it in offered if it in MECHANISMS]
        return f"{text}; set it to {' or '.join(spoken)}" if spoken else text
    if mechanism in NOT_SPOKEN:
        return None  # the listener is refused by itself
    if mechanism == "OAUTHBEARER":
        setting = tokens.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL
        url = on(config, listener, setting)
        if url is None:
            return f"brokers could not log in: set {setting.name}"
        if url.startswith("file:"):
            return None
    if not _may_have_module(config, listener, mechanism):
        return f"brokers could not log in: set {jaas_setting(listener, mechanism)}"
    return None


def _advertised(config: BrokerConfig) -> str | None:
    found = advertised(config)
    names = {listener.name for listener in config[network.LISTENERS]}
    if twice := _name_twice(found):
        return twice
    if strangers := [listener.name for listener in found if listener.name not in names]:
        return f"there is no listener {', '.join(strangers)}; there are {', '.join(sorted(names))}"
    everywhere = any(listener.host == "0.0.0.0" for listener in found)  # noqa: S104 - refused here
    if everywhere and not advertises_automatically(config):
        return "no client can connect to 0.0.0.0; name an address, or leave the host empty"
    return None


def _between_brokers(config: BrokerConfig) -> str | None:
    if config.is_set(network.INTER_BROKER_LISTENER_NAME) and config.is_set(
        network.SECURITY_INTER_BROKER_PROTOCOL
    ):
        return "only one of them may be set"
    names = [listener.name for listener in advertised(config)]
    if (name := inter_broker_listener_name(config)) not in names:
        there = ", ".join(names)
        return f"brokers must find each other, but {name} is not advertised: there is {there}"
    return None


LISTENER_RULES: Final = (
    Rule((network.LISTENERS, network.LISTENER_SECURITY_PROTOCOL_MAP), Severity.ERROR, _security),
    Rule((network.LISTENERS,), Severity.ERROR, _names_and_ports),
    Rule((network.ADVERTISED_LISTENERS, network.LISTENERS), Severity.ERROR, _advertised),
    Rule(
        (network.INTER_BROKER_LISTENER_NAME, network.SECURITY_INTER_BROKER_PROTOCOL),
        Severity.ERROR,
        _between_brokers,
    ),
    Rule((security.SASL_JAAS_CONFIG,), Severity.WARNING, _login_modules),
    Rule((security.SASL_ENABLED_MECHANISMS, network.LISTENERS), Severity.ERROR, _logins),
    Rule(
        (security.SASL_MECHANISM_INTER_BROKER_PROTOCOL, network.LISTENERS),
        Severity.ERROR,
        _own_login,
    ),
)

"""Changing a broker's settings while it runs.

What is stored already is taken as far as it is right: a wrong value in ZooKeeper must not stop a
broker. What somebody asks for is refused as a whole if any of it is wrong.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from odradek.config.broker import BrokerConfig, changed, dynamic_layer, read
from odradek.config.checks import contradictions
from odradek.config.findings import Finding, Severity, refuse
from odradek.config.setting import BrokerSetting


class Update(NamedTuple):
    """The settings from now on, which of them differ from before, and what was left out."""

    config: BrokerConfig
    changed: tuple[BrokerSetting[Any], ...]
    findings: tuple[Finding, ...]


def update(
    config: BrokerConfig,
    *,
    cluster: Mapping[str, str] | None = None,
    broker: Mapping[str, str] | None = None,
) -> Update:
    """Takes over what is stored for all brokers, for this one, or both; None leaves it as is."""
    layers = config.layers
    findings: tuple[Finding, ...] = ()
    if cluster is not None:
        kept, findings = dynamic_layer(cluster, per_broker=False, static=layers.static)
        layers = layers._replace(cluster=kept)
    if broker is not None:
        kept, more = dynamic_layer(broker, per_broker=True, static=layers.static)
        layers, findings = layers._replace(broker=kept), (*findings, *more)
    new, wrong = read(layers)
    fought = contradictions(new, wrong)
    if any(finding.severity is Severity.ERROR for finding in fought):
        return Update(config, (), (*findings, *fought))
    return Update(new, changed(config, new), (*findings, *fought))


def check(
    config: BrokerConfig,
    *,
    cluster: Mapping[str, str] | None = None,
    broker: Mapping[str, str] | None = None,
) -> BrokerConfig:
    """Refuses what somebody asks for, if `update` would leave any of it out; what would hold."""
    found = update(config, cluster=cluster, broker=broker)
    refuse(found.findings)
    return found.config

"""What two or more settings owe each other, and the sentence that is said when they do not."""

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from odradek.config.broker import BrokerConfig
from odradek.config.findings import Finding, Given, Severity, shown
from odradek.config.setting import BrokerSetting

_WORDS: Final = {operator.lt: "less than", operator.le: "at most"}


class Limit(NamedTuple):
    """`lesser` must be less than, or at most, `greater`, or else `reason`. None is no limit."""

    lesser: BrokerSetting[Any]
    holds: Callable[[Any, Any], bool]
    greater: BrokerSetting[Any]
    severity: Severity
    reason: str

    @property
    def settings(self) -> tuple[BrokerSetting[Any], ...]:
        """Both of them."""
        return self.lesser, self.greater

    def finding(self, config: BrokerConfig) -> Finding | None:
        """What is said if it does not hold."""
        less, more = config[self.lesser], config[self.greater]
        if more is None or (less is not None and self.holds(less, more)):
            return None
        sentence = (
            f"{_said(config, self.lesser)} must be {_WORDS[self.holds]} "
            f"{_said(config, self.greater)}: {self.reason}"
        )
        return Finding(self.severity, (self.lesser.name, self.greater.name), sentence)


class Rule(NamedTuple):
    """A relation that is no mere order: `fault` is a clause if it is broken."""

    settings: tuple[BrokerSetting[Any], ...]
    severity: Severity
    fault: Callable[[BrokerConfig], str | None]

    def finding(self, config: BrokerConfig) -> Finding | None:
        """What is said if it is broken."""
        if (clause := self.fault(config)) is None:
            return None
        said = ", ".join(_said(config, setting) for setting in self.settings)
        names = tuple(setting.name for setting in self.settings)
        return Finding(self.severity, names, f"{said}: {clause}")


def broken(
    rules: Iterable[Limit | Rule], config: BrokerConfig, wrong: frozenset[str]
) -> tuple[Finding, ...]:
    """What these rules say; those about a setting that is wrong by itself are left out."""
    return tuple(
        finding
        for rule in rules
        if not any(setting.name in wrong for setting in rule.settings)
        and (finding := rule.finding(config)) is not None
    )


def _said(config: BrokerConfig, setting: BrokerSetting[Any]) -> str:
    given = config.layers.find(setting.name)
    if given is None:
        if setting.default_text is None:
            return f"{setting.name} (not set)"
        given = Given(setting.default_text, "default")
    return shown(setting.name, given, sensitive=setting.sensitive)

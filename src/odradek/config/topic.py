"""One topic's settings: the broker's where the topic is silent, its own where it is not.

Immutable and cheap to read. A topic without settings of its own shares one object with all the
others; when the broker's settings change, the owner derives it anew from `overrides`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, TypeVar

from odradek.config.findings import Finding, Given, Severity, refuse, shown, wrong_value
from odradek.config.kinds import NotAllowed
from odradek.config.not_here import is_secret, near
from odradek.config.rows import topic as rows
from odradek.config.setting import TopicSetting
from odradek.config.table import TOPIC_SETTINGS
from odradek.model.units import Millis

T = TypeVar("T")

WHERE: Final = "set for the topic"


class TopicConfig:
    """What holds for one topic; `config[rows.topic.SEGMENT_BYTES]` is typed as the row says."""

    __slots__ = ("_values", "overrides")

    def __init__(
        self, values: Mapping[TopicSetting[Any], Any], overrides: Mapping[str, str]
    ) -> None:
        self._values = values
        self.overrides = overrides

    def __getitem__(self, setting: TopicSetting[T]) -> T:
        """The value that holds."""
        value: T = self._values[setting]
        return value

    @property
    def timestamp_before_max(self) -> Millis:
        """How far back a record's time may lie; by default as the older setting says."""
        own = self[rows.MESSAGE_TIMESTAMP_BEFORE_MAX_MS]
        unset = own == rows.MESSAGE_TIMESTAMP_BEFORE_MAX_MS.default
        return self[rows.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS] if unset else own

    @property
    def timestamp_after_max(self) -> Millis:
        """How far ahead it may lie; likewise."""
        own = self[rows.MESSAGE_TIMESTAMP_AFTER_MAX_MS]
        unset = own == rows.MESSAGE_TIMESTAMP_AFTER_MAX_MS.default
        return self[rows.MESSAGE_TIMESTAMP_DIFFERENCE_MAX_MS] if unset else own

    def with_overrides(
        self, overrides: Mapping[str, str]
    ) -> tuple["TopicConfig", tuple[Finding, ...]]:
        """A topic with these settings over these defaults, and what was left out as wrong.

        For settings that are stored already: one that is wrong must not keep its topic offline.
        """
        if not overrides:
            return self, ()
        values = dict(self._values)
        findings: list[Finding] = []
        for name, text in overrides.items():
            given = Given(text.strip(), WHERE)
            setting = TOPIC_SETTINGS.get(name)
            if setting is None:
                findings.append(_unknown(name, given))
                continue
            try:
                values[setting] = setting.kind.parse(given.text)
            except NotAllowed as error:
                findings.append(wrong_value(setting, given, str(error)))
        config = TopicConfig(values, MappingProxyType(dict(overrides)))
        return config, (*findings, *_contradictions(config))

    def checked(self, overrides: Mapping[str, str]) -> "TopicConfig":
        """As `with_overrides`, for settings that somebody asks for: what is wrong is refused."""
        config, findings = self.with_overrides(overrides)
        refuse(findings)
        return config


def _unknown(name: str, given: Given) -> Finding:
    """In Kafka's words, which other people's programs look for."""
    named = shown(name, given, sensitive=is_secret(name))
    text = f"{named}: Unknown topic config name{near(name, tuple(TOPIC_SETTINGS))}"
    return Finding(Severity.ERROR, (name,), text)


def _contradictions(config: TopicConfig) -> tuple[Finding, ...]:
    low, high = config[rows.MIN_COMPACTION_LAG_MS], config[rows.MAX_COMPACTION_LAG_MS]
    if low <= high:
        return ()
    names = (rows.MIN_COMPACTION_LAG_MS.name, rows.MAX_COMPACTION_LAG_MS.name)
    sentence = (
        f"{names[0]}={low} must not be more than {names[1]}={high}: "
        "a record would have to be compacted before it may be"
    )
    return (Finding(Severity.ERROR, names, sentence),)

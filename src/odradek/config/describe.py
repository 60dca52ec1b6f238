"""What DescribeConfigs tells: a setting's value, who set it, and who else said something about it.

As Kafka answers, because its tools print it. The synonyms of a setting are all the
places that name it, under any of its names, the one that counts first; a default counts as a place.
What precedes the first mention under the setting's own name is left out. Secrets and what no row
knows have no value here: an unknown setting may be somebody's password.
"""

from collections.abc import Iterable, Iterator
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from odradek.config.broker import BrokerConfig
from odradek.config.kinds import ConfigType
from odradek.config.rows.broker import BROKER_ID, NODE_ID
from odradek.config.setting import BrokerSetting, Mode, Setting
from odradek.config.table import BROKER_SETTINGS, TOPIC_SETTINGS, on_listener, synonyms
from odradek.config.topic import TopicConfig


class Source(IntEnum):
    """Who set a value; the numbers are those of the wire."""

    UNKNOWN = 0
    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5


class Synonym(NamedTuple):
    """One place that names the setting."""

    name: str
    text: str | None
    source: Source


class Described(NamedTuple):
    """One line of the answer."""

    name: str
    text: str | None
    source: Source
    read_only: bool
    sensitive: bool
    type: ConfigType
    synonyms: tuple[Synonym, ...]
    doc: str | None


def broker_settings(config: BrokerConfig) -> Iterator[Described]:
    """All that holds for one broker, what it does not know included."""
    for setting in BROKER_SETTINGS.values():
        yield _known(config, setting)
    strangers = {name for layer in config.layers for name in layer if name not in BROKER_SETTINGS}
    for name in sorted(strangers):
        yield _stranger(config, name)


def cluster_settings(config: BrokerConfig) -> Iterator[Described]:
    """What was set at run time for all brokers."""
    for name in sorted(config.layers.cluster):
        setting = BROKER_SETTINGS.get(name)
        described = _stranger(config, name) if setting is None else _known(config, setting)
        text = None if described.sensitive else config.layers.cluster[name].text
        source = Source.DYNAMIC_DEFAULT_BROKER
        here = tuple(mention for mention in described.synonyms if mention.source is source)
        yield described._replace(text=text, source=source, synonyms=here)


def topic_settings(config: BrokerConfig, topic: TopicConfig) -> Iterator[Described]:
    """All that holds for one topic, and where the broker says so."""
    for setting in TOPIC_SETTINGS.values():
        heirs = _mentions(config, setting.inherits[0]) if setting.inherits else ()
        text = _text(setting, topic[setting], topic.overrides.get(setting.name))
        own = (Synonym(setting.name, text, Source.TOPIC),)
        mentions = (*own, *heirs) if setting.name in topic.overrides else heirs
        yield _described(setting, text, mentions, read_only=False)


_ONE_NUMBER: Final = MappingProxyType({NODE_ID: BROKER_ID, BROKER_ID: NODE_ID})
"""Two names for the broker's number: Kafka shows under both what was said under one."""


def _known(config: BrokerConfig, setting: BrokerSetting[Any]) -> Described:
    given = config.layers.find(setting.name)
    other = _ONE_NUMBER.get(setting)
    if given is None and other is not None and config.layers.find(other.name) is not None:
        text = _text(other, config[other], None)
        said = Synonym(setting.name, text, Source.STATIC_BROKER)
        mentions = (said, *_mentions(config, setting))
        return _described(setting, text, mentions, read_only=True)
    text = _text(setting, config[setting], None if given is None else given.text)
    if given is not None and given.written is not None and not setting.sensitive:
        text = given.written
    mentions = _mentions(config, setting)
    return _described(setting, text, mentions, read_only=setting.mode is Mode.READ_ONLY)


def _stranger(config: BrokerConfig, name: str) -> Described:
    """A setting without a row of its own: one listener's, or an unknown one."""
    owner = on_listener(name)
    kind = owner[1].kind.type if owner else ConfigType.UNKNOWN
    hidden = owner is None or owner[1].sensitive
    read_only = owner is None or owner[1].mode is Mode.READ_ONLY
    mentions = tuple(_layered(config, (name,), shown=not hidden))
    text, source = mentions[0].text, mentions[0].source
    return Described(name, text, source, read_only, hidden, kind, mentions, None)


def _described(
    setting: Setting[Any], text: str | None, mentions: tuple[Synonym, ...], *, read_only: bool
) -> Described:
    source = mentions[0].source if mentions else Source.DEFAULT
    return Described(
        setting.name,
        text,
        source,
        read_only,
        setting.sensitive,
        setting.kind.type,
        mentions,
        setting.doc,
    )


def _text(setting: Setting[Any], value: Any, written: str | None) -> str | None:
    """Texts as they were written, everything else as Kafka would print its value."""
    if setting.sensitive:
        return None
    if written is not None and setting.kind.type is ConfigType.STRING:
        return written.strip()
    if value is None and setting.kind.may_be_unset and written is None:
        return None
    text: str = setting.kind.text(value)
    return text


def _mentions(config: BrokerConfig, setting: BrokerSetting[Any]) -> tuple[Synonym, ...]:
    family = synonyms(setting)
    names = [one.name for one in family]
    found = list(_layered(config, names, shown=not setting.sensitive))
    for one in family:
        if one.default_text is not None:
            text = None if setting.sensitive else one.default_text
            found.append(Synonym(one.name, text, Source.DEFAULT))
    first = next((i for i, one in enumerate(found) if one.name == setting.name), len(found))
    return tuple(found[first:])


_LAYERS = (Source.DYNAMIC_BROKER, Source.DYNAMIC_DEFAULT_BROKER, Source.STATIC_BROKER)


def _layered(config: BrokerConfig, names: Iterable[str], *, shown: bool) -> Iterator[Synonym]:
    for source, layer in zip(_LAYERS, config.layers, strict=True):
        for name in names:
            if name in layer:
                yield Synonym(name, layer[name].shown if shown else None, source)

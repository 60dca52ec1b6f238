"""A broker's settings: what its files say, and over it what was changed at run time.

Three layers, each over the one before: static (files, environment, command line), dynamic for the
whole cluster, dynamic for this broker. Immutable: a change makes a new one, together with the list
of settings that differ, so that the owner of one of them can act. Values are read by row and typed
as the row says. Names that no row knows are kept, as Kafka keeps them, and warned about.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

from odradek.config.findings import Finding, Given, Severity, shown, wrong_value
from odradek.config.kinds import NotAllowed
from odradek.config.listeners import Listener
from odradek.config.not_here import absent, is_secret, near
from odradek.config.providers import is_of_providers, provider_names, references
from odradek.config.rows.log import SAID_TWICE
from odradek.config.rows.network import LISTENERS
from odradek.config.setting import BrokerSetting, Mode, TopicSetting
from odradek.config.table import (
    BROKER_SETTINGS,
    LISTENER_PREFIX,
    TOPIC_SETTINGS,
    in_lower_case,
    on_listener,
)
from odradek.config.topic import TopicConfig

T = TypeVar("T")

NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})
FOR_KRAFT: Final = (
    "this file is for Kafka's KRaft mode, and brokers are coordinated through ZooKeeper here. "
    "Take out process.roles, controller.* and the listener of the controller; set broker.id, and "
    "zookeeper.connect unless ZooKeeper is to run in this process. A KRaft data directory cannot "
    "be read: move the data with a client such as MirrorMaker 2"
)
NO_EFFECT: Final = "it has no effect"
AT_START: Final = (
    "config.providers are asked when the broker starts, not for settings that are changed at run "
    "time; set it in the properties file"
)
UNKNOWN: Final = "there is no such setting"
FOR_ALL: Final = "set at run time for all brokers"
FOR_THIS: Final = "set at run time for this broker"


class Layers(NamedTuple):
    """What was written, the strongest first."""

    broker: Mapping[str, Given] = NOTHING
    cluster: Mapping[str, Given] = NOTHING
    static: Mapping[str, Given] = NOTHING

    def find(self, name: str) -> Given | None:
        """What counts for this name."""
        for layer in self:
            if (given := layer.get(name)) is not None:
                return given
        return None


class BrokerConfig:
    """What holds for one broker; `config[rows.log.LOG_SEGMENT_BYTES]` is typed as the row says."""

    __slots__ = ("_on_listeners", "_values", "layers", "topic_defaults")

    def __init__(
        self,
        layers: Layers,
        values: Mapping[BrokerSetting[Any], Any],
        on_listeners: Mapping[BrokerSetting[Any], Mapping[str, Any]],
    ) -> None:
        self.layers = layers
        self._values = values
        self._on_listeners = on_listeners
        self.topic_defaults = TopicConfig(
            {row: self._inherited(row) for row in TOPIC_SETTINGS.values()}, MappingProxyType({})
        )

    def __getitem__(self, setting: BrokerSetting[T]) -> T:
        """The value that holds."""
        value: T = self._values[setting]
        return value

    def on_listeners(self, setting: BrokerSetting[T]) -> Mapping[str, T]:
        """What single listeners have set for themselves, by their names."""
        return self._on_listeners.get(setting, NOTHING)

    def is_set(self, setting: BrokerSetting[Any]) -> bool:
        """Whether anybody has said something about it."""
        return self.layers.find(setting.name) is not None

    def _inherited(self, row: TopicSetting[T]) -> T:
        """What holds for topics that say nothing: by layer first, then by precedence."""
        for layer in self.layers:
            for setting in row.inherits:
                if setting.name in layer:
                    value: T = self[setting]
                    return value
        for setting in row.inherits:
            if setting.default_text is not None:
                default: T = setting.default
                return default
        return row.default


def read(layers: Layers) -> tuple[BrokerConfig, tuple[Finding, ...]]:
    """The settings that these layers make; where a value is none, a finding and the default."""
    findings: list[Finding] = []
    values: dict[BrokerSetting[Any], Any] = {}
    for setting in BROKER_SETTINGS.values():
        values[setting] = setting.default
        if (given := layers.find(setting.name)) is not None:
            try:
                values[setting] = setting.kind.parse(given.text)
            except NotAllowed as error:
                findings.append(wrong_value(setting, given, str(error)))
    on_listeners: dict[BrokerSetting[Any], dict[str, Any]] = {}
    for name, given, (listener, setting) in _listeners_own(layers):
        try:
            on_listeners.setdefault(setting, {})[listener] = setting.kind.parse(given.text)
        except NotAllowed as error:
            findings.append(wrong_value(setting, given, str(error), name=name))
    findings += _without_listener(layers.static, values[LISTENERS])
    findings += _in_capitals(layers.static)
    findings += _overruled(layers.static)
    findings += _inert(layers.static)
    findings += _unknown(layers.static)
    return BrokerConfig(layers, values, on_listeners), tuple(findings)


def _listeners_own(layers: Layers) -> Iterator[tuple[str, Given, tuple[str, BrokerSetting[Any]]]]:
    """Settings of single listeners, the weakest layer first; as Kafka writes them they count."""
    for layer in reversed(layers):
        for name, given in sorted(layer.items(), key=lambda it: it[0] == in_lower_case(it[0])):
            if (owner := on_listener(name)) is not None:
                yield name, given, owner


def _without_listener(
    static: Mapping[str, Given], listeners: Iterable[Listener]
) -> Iterator[Finding]:
    """Settings of a listener that there is not: its name may be misspelt, and it left open."""
    names = [listener.name for listener in listeners]
    for name, given in static.items():
        owner = on_listener(name)
        if owner is not None and (listener := owner[0].partition("/")[0]) not in names:
            named = shown(name, given, sensitive=owner[1].sensitive)
            why = f"there is no listener {listener}, only {', '.join(names)}"
            yield Finding(Severity.WARNING, (name,), f"{named}: {NO_EFFECT}; {why}", why)


def _in_capitals(static: Mapping[str, Given]) -> Iterator[Finding]:
    """Kafka looks for a listener's settings under its name in lower case, and passes over these.

    They count here, for one that secures a listener must not be passed over.
    """
    for name, given in static.items():
        right = in_lower_case(name)
        if (owner := on_listener(name)) is None or name == right:
            continue
        named = shown(name, given, sensitive=owner[1].sensitive)
        if right in static:
            text = f"{named}: {NO_EFFECT}; {right} counts"
        else:
            text = f"{named}: Kafka would pass over it, and here it counts; write {right}"
        yield Finding(Severity.WARNING, (name,), text)


def _overruled(static: Mapping[str, Given]) -> Iterator[Finding]:
    """What another setting says, too, which comes before it in Kafka."""
    for setting, ways in SAID_TWICE.items():
        given = static.get(setting.name)
        if given is None:
            continue
        for way in ways[: ways.index(setting)]:
            if way.name in static and static[way.name].text:
                text = f"{shown(setting.name, given)}: {NO_EFFECT}; {way.name} counts, as in Kafka"
                yield Finding(Severity.NOTE, (setting.name,), text)
                break


def _inert(static: Mapping[str, Given]) -> Iterator[Finding]:
    """Kafka's that are here for the sake of files, and do nothing."""
    for name, given in static.items():
        row = BROKER_SETTINGS.get(name)
        if row is not None and row.inert:
            named = shown(name, given, sensitive=row.sensitive)
            text = f"{named}: {NO_EFFECT}; {row.inert}"
            yield Finding(Severity.NOTE, (name,), text, row.inert)


def _of_a_listener(name: str, given: Given) -> Finding | None:
    """A setting of all listeners that one listener cannot have for itself here."""
    if not name.startswith(LISTENER_PREFIX):
        return None
    row = BROKER_SETTINGS.get(name.removeprefix(LISTENER_PREFIX).partition(".")[2])
    if row is None:
        return None
    named = shown(name, given, sensitive=row.sensitive)
    if row.inert:
        return Finding(Severity.NOTE, (name,), f"{named}: {NO_EFFECT}; {row.inert}", row.inert)
    why = f"one listener cannot have it for itself here; {row.name} counts for all"
    return Finding(Severity.WARNING, (name,), f"{named}: {NO_EFFECT}; {why}", why)


def _unknown(static: Mapping[str, Given]) -> Iterator[Finding]:
    """Kafka's that are not here, and those that are unknown; a file for KRaft mode is refused."""
    for name, given in static.items():
        if name in BROKER_SETTINGS or on_listener(name) is not None or is_of_providers(name):
            continue
        named = shown(name, given, sensitive=is_secret(name, given.text))
        group = absent(name)
        if name == "process.roles":
            yield Finding(Severity.ERROR, (name,), f"{named}: {FOR_KRAFT}")
        elif (of_a_listener := _of_a_listener(name, given)) is not None:
            yield of_a_listener
        elif group is None:
            text = f"{named}: {NO_EFFECT}; {UNKNOWN}"
            nearest = near(name, tuple(BROKER_SETTINGS))
            yield Finding(Severity.WARNING, (name,), text + nearest, "" if nearest else UNKNOWN)
        else:
            is_asked = group.matters and given.text.lower() != "false"
            severity = Severity.WARNING if is_asked else Severity.NOTE
            yield Finding(severity, (name,), f"{named}: {NO_EFFECT}; {group.why}", group.why)


def dynamic_layer(
    texts: Mapping[str, str], *, per_broker: bool, static: Mapping[str, Given] = NOTHING
) -> tuple[Mapping[str, Given], tuple[Finding, ...]]:
    """What may be changed at run time of these, and why the rest may not."""
    kept: dict[str, Given] = {}
    findings: list[Finding] = []
    for name, text in texts.items():
        given = Given(text.strip(), FOR_THIS if per_broker else FOR_ALL)
        if is_of_providers(name) or references(given.text, provider_names(static)):
            fault: Finding | None = Finding(Severity.ERROR, (name,), f"{name}: {AT_START}")
        else:
            fault = _dynamic_fault(name, given, per_broker=per_broker)
        if fault is None:
            kept[name] = given
        else:
            findings.append(fault)
    return MappingProxyType(kept), tuple(findings)


def _dynamic_fault(name: str, given: Given, *, per_broker: bool) -> Finding | None:
    owner = on_listener(name)
    setting = owner[1] if owner else BROKER_SETTINGS.get(name)
    if setting is None:  # a stranger's: kept, as Kafka does, and without effect
        return None
    clause = _dynamic_clause(setting, given.text, per_broker=per_broker)
    return wrong_value(setting, given, clause, name=name) if clause else None


def _dynamic_clause(setting: BrokerSetting[Any], text: str, *, per_broker: bool) -> str | None:
    if setting.mode is Mode.READ_ONLY:
        return "it can only be changed by a restart of the broker"
    if setting.mode is Mode.PER_BROKER and not per_broker:
        return "it can only be set for one broker at a time"
    try:
        setting.kind.parse(text)
    except NotAllowed as error:
        return str(error)
    return None


def changed(old: BrokerConfig, new: BrokerConfig) -> tuple[BrokerSetting[Any], ...]:
    """The broker's settings whose values differ, in the order of the table."""
    return tuple(
        row
        for row in BROKER_SETTINGS.values()
        if (old[row], old.on_listeners(row)) != (new[row], new.on_listeners(row))
    )


def changed_for_topics(old: TopicConfig, new: TopicConfig) -> tuple[TopicSetting[Any], ...]:
    """The topic's settings whose values differ, in the order of the table."""
    return tuple(row for row in TOPIC_SETTINGS.values() if old[row] != new[row])

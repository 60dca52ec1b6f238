"""What a pipeline's file says: source, values, expectations, table, trigger.

```toml
name = "orders"                       # of the pipeline, and of the group that shows its progress

[source]
bootstrap-server = "localhost:9092"
topics = ["orders"]                   # or pattern = "orders-.*"
start = "earliest"                    # latest, -10m, 2026-01-31T00:00:00Z
on-data-loss = "fail"                 # skip

[values]
format = "json"                       # raw, json, json-schema, avro, protobuf
# envelope = "debezium"               # change records, into a table of mode "upsert"
[values.columns]
id = "long"

[keys]
format = "string"                     # json, json-schema, avro, protobuf; else keys stay bytes

[expectations.has-amount]
condition = "amount is not null"
action = "dead-letter"                # fail, drop

[dead-letters]
table = "delta:lake/orders-dead"

[table]
location = "delta:lake/orders"        # delta:lake/{topic}: a table for each topic
partition-by = ["day(_timestamp)"]
mode = "append"                       # upsert, with keys = ["id"]: the last record is the row

[trigger]
every = "30s"                         # once = true; without either: continuously
```

Relative locations are relative to the file. Nothing here needs Spark.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from odradek.model.names import topic_name_fault
from odradek.model.units import Millis
from odradek.pipelines.definition.keyed import KEYED_FILE_BYTES, keys_of, unwrapped
from odradek.pipelines.definition.sections import Section, WrongFile
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.avro_values import AvroValues, avro_values
from odradek.pipelines.formats.beside import CHOICES, Beside
from odradek.pipelines.formats.changes import Changes
from odradek.pipelines.formats.debezium import Debezium
from odradek.pipelines.formats.json_schema import JsonSchemaValues, json_schema_values
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.keys import (
    PLAIN,
    READERS,
    Keys,
    PlainKeys,
    RegisteredKeys,
    with_newest,
)
from odradek.pipelines.formats.names import Unfit, check_name
from odradek.pipelines.formats.protobuf_values import ProtobufValues, protobuf_values
from odradek.pipelines.formats.registry import SchemaRegistry, registry_of
from odradek.pipelines.formats.rows import check_own
from odradek.pipelines.formats.types import parse as parse_type
from odradek.pipelines.formats.types import parse_column
from odradek.pipelines.given import GivenOptions, nearest
from odradek.pipelines.moving.archiving.archive import Archive
from odradek.pipelines.moving.archiving.checks import ACTIONS, DEAD, FAIL, Check
from odradek.pipelines.moving.archiving.dead_letters import (
    DeadLetters,
    DeadLetterTable,
    DeadLetterTopic,
)
from odradek.pipelines.moving.archiving.triggers import Continuous, Every, Once, Trigger
from odradek.pipelines.moving.replaying.redrive import Redrive
from odradek.pipelines.moving.values import RAW, Values
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.source.options import Mode, SourceOptions
from odradek.pipelines.source.options import parse as parse_source
from odradek.pipelines.source.points import point_options
from odradek.pipelines.tables.keys import check_keys
from odradek.pipelines.tables.location import parse as parse_location
from odradek.pipelines.tables.partitioning import check as check_partitioning
from odradek.pipelines.tables.partitioning import parse as parse_partitioning
from odradek.pipelines.tables.writing import FILE_BYTES

SECTIONS: Final = (
    "source",
    "values",
    "keys",
    "expectations",
    "dead-letters",
    "table",
    "trigger",
    "spark",
)
REGISTERED: Final[Mapping[str, Callable[[SchemaRegistry], Values]]] = {
    "json-schema": JsonSchemaValues,
    "avro": AvroValues,
    "protobuf": ProtobufValues,
}
"""Formats whose schemas are in a registry."""
FORMATS: Final = ("raw", "json", *REGISTERED)
KEY_FORMATS: Final = (*PLAIN, *READERS)
ON_LOSS: Final = ("fail", "skip")


@dataclass(frozen=True)
class SparkSettings:
    """The session that runs it."""

    master: str | None = None
    remote: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Definition:
    """One pipeline."""

    name: str
    archive: Archive
    trigger: Trigger
    spark: SparkSettings

    def with_newest_columns(self) -> "Definition":
        """With the columns that the registry knows, which a table of such values is made with."""
        topics = self.archive.source.selection.topics
        values = _with_newest(self.archive.values, topics)
        return replace(self, archive=replace(self.archive, values=values))


def _with_newest(values: Values, topics: tuple[str, ...]) -> Values:
    match values:
        case Beside():
            keys = values.keys
            if isinstance(keys, RegisteredKeys):
                keys = with_newest(keys, topics)
            return replace(values, values=_with_newest(values.values, topics), keys=keys)
        case Changes():
            return replace(values, values=_with_newest(values.values, topics))
        case Debezium():
            inner = _with_newest(values.values, topics)
            assert isinstance(inner, (JsonValues, AvroValues))
            return replace(values, values=inner)
        case AvroValues():
            return avro_values(values.registry, topics)
        case JsonSchemaValues():
            return json_schema_values(values.registry, topics)
        case ProtobufValues():
            return protobuf_values(values.registry, topics)
    return values


def load(path: Path) -> Definition:
    """What the file says; WrongFile or InvalidOption is the first that is wrong."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongFile(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise WrongFile(f"{path} is no TOML: {error}") from error
    return parse(content, path.parent)


def parse(content: Mapping[str, Any], folder: Path) -> Definition:
    """What a file in this folder says."""
    whole = Section("", content)
    name = whole.needed("name")
    of = {it: whole.section(it) for it in SECTIONS}
    whole.done()
    if fault := topic_name_fault(name):
        raise WrongFile(f"name {name!r}: {fault}")
    source = _source(of["source"])
    table = of["table"]
    location = _location(table.needed("location"), folder)
    keys = keys_of(table, parse_location(location)[0])
    values, registry = _values(of["values"], of["keys"], keys)
    expectations = _expectations(of["expectations"])
    dead_letters = _dead_letters(of["dead-letters"], folder)
    if dead_letters is None:
        for it in expectations:
            if it.action == DEAD:
                raise WrongFile(
                    f"expectations.{it.name} wants dead letters: give dead-letters.table or .topic"
                )
    letters = dead_letters.location if isinstance(dead_letters, DeadLetterTable) else ""
    if "{topic}" in letters and "{topic}" not in location:
        raise WrongFile("dead-letters.table has a {topic}, and table.location has none")
    partitioning = table.texts("partition-by")
    if registry is None:
        check_partitioning(tuple(parse_partitioning(it) for it in partitioning), values.schema)
        check_keys(keys, values.schema)
    if keys and partitioning:
        raise WrongFile(
            "table.partition-by and table.keys: the files of such a table are split by its keys"
        )
    archive = Archive(
        source,
        location,
        table.plain("options"),
        Changes(values, keys) if keys else values,
        partitioning,
        dead_letters,
        expectations,
        _file_bytes(table, KEYED_FILE_BYTES if keys else FILE_BYTES),
        keys,
    )
    trigger, spark = _trigger(of["trigger"]), _spark(of["spark"])
    table.done()
    return Definition(name, archive, trigger, spark)


def _file_bytes(table: Section, unsaid: int) -> int:
    text = table.text("file-size")
    if text is None:
        return unsaid
    return GivenOptions({"table.file-size": text}, ()).size("table.file-size") or unsaid


def _source(section: Section) -> SourceOptions:
    options = {f"kafka.{key}": it for key, it in section.plain("kafka").items()}
    options["kafka.bootstrap.servers"] = section.needed("bootstrap-server")
    options["includeHeaders"] = "true"
    topics, pattern = section.texts("topics"), section.text("pattern")
    if bool(topics) == bool(pattern):
        raise WrongFile("[source] needs topics, or a pattern, and not both")
    options |= {"subscribe": ",".join(topics)} if topics else {"subscribePattern": str(pattern)}
    options |= point_options("source.start", section.text("start") or "earliest", "starting")
    for key, option in {"max-records": "maxOffsetsPerTrigger"}.items():
        if (limit := section.number(key)) is not None:
            options[option] = str(limit)
    if (size := section.text("max-bytes")) is not None:
        options["maxBytesPerTrigger"] = size
    on_loss = section.text("on-data-loss", ON_LOSS[0])
    if on_loss not in ON_LOSS:
        raise WrongFile(f"source.on-data-loss must be {' or '.join(ON_LOSS)}, not {on_loss!r}")
    options["failOnDataLoss"] = "false" if on_loss == "skip" else "true"
    if section.boolean("read-committed", default=True):
        options["kafka.isolation.level"] = "read_committed"
    section.done()
    return parse_source(options, Mode.STREAM)


def within(job: Archive, start: str, end: str | None) -> Archive:
    """The same of a range: from one point to another, without one to the table's end."""
    options = {"kafka.bootstrap.servers": job.source.client.bootstrap, "subscribe": "any"}
    options |= point_options("--from", start, "starting")
    options |= {} if end is None else point_options("--to", end, "ending")
    points = parse_source(options, Mode.BATCH)
    source = replace(job.source, mode=Mode.BATCH, starting=points.starting, ending=points.ending)
    return replace(job, source=source)


def redriving(definition: Definition, topic: str | None, *, exactly_once: bool = False) -> Redrive:
    """Sends the dead letters again: to a topic, or to those that they came from."""
    letters, client = definition.archive.dead_letters, definition.archive.source.client
    if definition.archive.keys:
        raise WrongFile(
            f"pipeline {definition.name} writes a row for each key, the last: records that are "
            "sent again would come behind newer ones of their keys. `odradek pipeline reset FILE` "
            "makes the table again, dead letters included"
        )
    if letters is None:
        raise WrongFile(f"pipeline {definition.name} has no [dead-letters]: nothing to redrive")
    if topic is not None and (fault := topic_name_fault(topic)):
        raise InvalidOption(f"--to {topic!r}: {fault}")
    group = f"{definition.name}-redrive"
    sink = SinkOptions(client, topic, transactional_id=group if exactly_once else None)
    return Redrive(letters, sink, group)


def _values(
    section: Section, keys: Section, of_rows: tuple[str, ...]
) -> tuple[Values, SchemaRegistry | None]:
    envelope, beside = section.text("envelope"), section.texts("record-columns")
    for name in beside:
        if name not in CHOICES:
            known = " and ".join(CHOICES)
            raise WrongFile(f"values.record-columns: there are {known}, not {name!r}")
    values, registry = _format(section)
    decoded = _keys(keys, registry)
    if envelope is not None:
        values = unwrapped(envelope, values, of_rows)
    if not beside and decoded is None:
        return values, registry
    if values is RAW:
        raise WrongFile("raw records have all columns, with their keys as they are")
    return Beside(values, tuple(dict.fromkeys(beside)), decoded), registry


def _keys(section: Section, of_values: SchemaRegistry | None) -> Keys | None:
    """How keys are decoded; None: they are not. They have the values' registry, or their own."""
    form = section.text("format")
    if form is None:
        section.done()
        return None
    if form not in KEY_FORMATS:
        raise WrongFile(f"keys.format must be one of {', '.join(KEY_FORMATS)}, not {form!r}")
    if form in READERS:
        is_own = of_values is None or "registry" in section
        registry = _registry(section) if is_own else of_values
        section.done()
        assert registry is not None
        return RegisteredKeys(form, registry)
    kind = section.text("type", "string")
    section.done()
    try:
        return PlainKeys(form, parse_type(kind or ""))
    except InvalidOption as error:
        raise WrongFile(f"keys.type: {error}") from error


def _format(section: Section) -> tuple[Values, SchemaRegistry | None]:
    form = section.text("format", "raw")
    assert form is not None
    if form not in FORMATS:
        raise WrongFile(
            f"values.format must be one of {', '.join(FORMATS)}, not {form!r}"
            f"{nearest(form, FORMATS)}"
        )
    if form in REGISTERED:
        registry = _registry(section)
        section.done()
        return REGISTERED[form](registry), registry
    if form == "raw":
        section.done()
        return RAW, None
    columns = section.section("columns")
    typed, units = [], []
    names = list(columns.names())
    for name in names:
        try:
            check_own(name)
            check_name(name, names)
            kind, unit = parse_column(columns.needed(name))
            typed.append((name, kind))
            units += [] if unit is None else [(name, unit)]
        except (InvalidOption, Unfit) as error:
            raise WrongFile(f"values.columns.{name}: {error}") from error
    may_grow = section.boolean("new-columns", default=True)
    values = JsonValues(tuple(typed), may_grow, tuple(units))
    section.done()
    return values, None


def _registry(section: Section) -> SchemaRegistry:
    try:
        return registry_of(section.needed("registry"), section.plain("registry-options"))
    except InvalidOption as error:
        name = section.name
        raise WrongFile(f"{name}.registry and {name}.registry-options: {error}") from error


def _expectations(section: Section) -> tuple[Check, ...]:
    found = []
    for name in section.names():
        one = section.section(name)
        condition, action = one.needed("condition"), one.text("action", FAIL)
        if action is None or action not in ACTIONS:
            raise WrongFile(
                f"expectations.{name}.action must be fail, drop or dead-letter, not {action!r}"
            )
        one.done()
        found.append(Check(name, condition, action))
    return tuple(found)


def _dead_letters(section: Section, folder: Path) -> DeadLetters | None:
    table, topic, given = section.text("table"), section.text("topic"), section.plain("options")
    section.done()
    if table is not None and topic is not None:
        raise WrongFile("[dead-letters] has both table and topic: give one of them")
    if topic is not None:
        return DeadLetterTopic(topic)
    return None if table is None else DeadLetterTable(_location(table, folder), given)


def _location(text: str, folder: Path) -> str:
    """A local directory is relative to the file that names it."""
    form, place = parse_location(text)
    for braces in re.findall(r"\{[^}]*\}?|\}", text):
        if braces != "{topic}":
            raise WrongFile(
                f"location {text!r}: {{topic}} stands for a topic, {braces} for nothing"
            )
    is_catalog = form == "iceberg" and "/" not in place and "." in place.strip(".")
    if "://" in place or is_catalog or Path(place).is_absolute():
        return text
    return f"{form}:{folder / place}"


def _trigger(section: Section) -> Trigger:
    once, every = section.boolean("once", default=False), section.text("every")
    section.done()
    if once and every is not None:
        raise WrongFile("[trigger] has both once and every: give one of them")
    if every is None:
        return Once() if once else Continuous()
    return every_so_often(every)


def every_so_often(text: str) -> Every:
    """A trigger such as `30s`."""
    given = GivenOptions({"every": text}, ("every",))
    return Every(given.delay("every", Millis(0)))


def _spark(section: Section) -> SparkSettings:
    found = SparkSettings(section.text("master"), section.text("remote"), section.plain("conf"))
    section.done()
    if found.master is not None and found.remote is not None:
        raise WrongFile("[spark] has both master and remote: give one of them")
    return found

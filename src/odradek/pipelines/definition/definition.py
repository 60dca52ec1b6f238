"""What a pipeline's file says: source, values, expectations, table, trigger.

```toml
name = "orders"                       # of the pipeline, and of the group that shows its progress

[source]
bootstrap-server = "localhost:9092"
topics = ["orders"]                   # or pattern = "orders-.*"
start = "earliest"                    # latest, -10m, 2026-01-31T00:00:00Z

[values]
format = "json"                       # raw, json, avro
[values.columns]
id = "long"

[expectations.has-amount]
condition = "amount is not null"
action = "dead-letter"                # fail, drop

[dead-letters]
table = "delta:lake/orders-dead"

[table]
location = "delta:lake/orders"
partition-by = ["day(_timestamp)"]

[trigger]
every = "30s"                         # once = true; without either: continuously
```

Relative locations are relative to the file. Nothing here needs Spark.
"""

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from odradek.model.names import topic_name_fault
from odradek.pipelines.definition.sections import Section, WrongFile
from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.formats.avro_values import avro_values
from odradek.pipelines.formats.json_values import JsonValues
from odradek.pipelines.formats.types import parse as parse_type
from odradek.pipelines.given import GivenOptions, nearest
from odradek.pipelines.moving.archive import Archive
from odradek.pipelines.moving.checks import ACTIONS, DEAD, FAIL, Check
from odradek.pipelines.moving.dead_letters import DeadLetters, DeadLetterTable, DeadLetterTopic
from odradek.pipelines.moving.redrive import Redrive
from odradek.pipelines.moving.triggers import Continuous, Every, Once, Trigger
from odradek.pipelines.moving.values import RAW, Values
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.source.options import Mode, SourceOptions
from odradek.pipelines.source.options import parse as parse_source
from odradek.pipelines.tables.location import parse as parse_location
from odradek.pipelines.tables.partitioning import check as check_partitioning
from odradek.pipelines.tables.partitioning import parse as parse_partitioning
from odradek.pipelines.tables.writing import FILE_BYTES

SECTIONS: Final = (
    "source",
    "values",
    "expectations",
    "dead-letters",
    "table",
    "trigger",
    "spark",
)
FORMATS: Final = ("raw", "json", "avro")


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
    registry: str | None = None
    """Of Avro's schemas; `with_newest_columns` asks it."""

    def with_newest_columns(self) -> "Definition":
        """With the columns that the registry knows, which a table of Avro's values is made with."""
        if self.registry is None:
            return self
        topics = self.archive.source.selection.topics
        values = avro_values(self.registry, topics)
        return replace(self, archive=replace(self.archive, values=values))


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
    values, registry = _values(of["values"])
    expectations = _expectations(of["expectations"])
    dead_letters = _dead_letters(of["dead-letters"], folder)
    if dead_letters is None:
        for it in expectations:
            if it.action == DEAD:
                raise WrongFile(
                    f"expectations.{it.name} wants dead letters: give dead-letters.table or .topic"
                )
    table = of["table"]
    location = _location(table.needed("location"), folder)
    partitioning = table.texts("partition-by")
    if registry is None:
        check_partitioning(tuple(parse_partitioning(it) for it in partitioning), values.schema)
    archive = Archive(
        source,
        location,
        table.plain("options"),
        values,
        partitioning,
        dead_letters,
        expectations,
        _file_bytes(table),
    )
    trigger, spark = _trigger(of["trigger"]), _spark(of["spark"])
    table.done()
    return Definition(name, archive, trigger, spark, registry)


def _file_bytes(table: Section) -> int:
    text = table.text("file-size")
    if text is None:
        return FILE_BYTES
    return GivenOptions({"table.file-size": text}, ()).size("table.file-size") or FILE_BYTES


def _source(section: Section) -> SourceOptions:
    options = {f"kafka.{key}": it for key, it in section.plain("kafka").items()}
    options["kafka.bootstrap.servers"] = section.needed("bootstrap-server")
    options["includeHeaders"] = "true"
    topics, pattern = section.texts("topics"), section.text("pattern")
    if bool(topics) == bool(pattern):
        raise WrongFile("[source] needs topics, or a pattern, and not both")
    options |= {"subscribe": ",".join(topics)} if topics else {"subscribePattern": str(pattern)}
    options |= _point("source.start", section.text("start") or "earliest", "starting")
    for key, option in {"max-records": "maxOffsetsPerTrigger"}.items():
        if (limit := section.number(key)) is not None:
            options[option] = str(limit)
    if (size := section.text("max-bytes")) is not None:
        options["maxBytesPerTrigger"] = size
    if section.boolean("read-committed", default=True):
        options["kafka.isolation.level"] = "read_committed"
    section.done()
    return parse_source(options, Mode.STREAM)


def _point(what: str, text: str, prefix: str) -> dict[str, str]:
    """A point such as `earliest`, `-10m` or a time, as an option of the source."""
    if text in {"earliest", "latest"} or text.startswith("{"):
        return {f"{prefix}Offsets": text}
    if text.startswith("-") or text.isdigit():
        return {f"{prefix}Timestamp": text}
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError:
        raise WrongFile(
            f"{what} must be earliest, latest, -10m or a time such as 2026-01-31T00:00:00Z, "
            f"not {text!r}"
        ) from None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=dt.UTC)
    return {f"{prefix}Timestamp": str(int(moment.timestamp() * 1_000))}


def within(job: Archive, start: str, end: str | None) -> Archive:
    """The same of a range: from one point to another, without one to the table's end."""
    options = {"kafka.bootstrap.servers": job.source.client.bootstrap, "subscribe": "any"}
    options |= _point("--from", start, "starting")
    options |= {} if end is None else _point("--to", end, "ending")
    points = parse_source(options, Mode.BATCH)
    source = replace(job.source, mode=Mode.BATCH, starting=points.starting, ending=points.ending)
    return replace(job, source=source)


def redriving(definition: Definition, topic: str | None) -> Redrive:
    """Sends the dead letters again: to a topic, or to those that they came from."""
    letters, client = definition.archive.dead_letters, definition.archive.source.client
    if letters is None:
        raise WrongFile(f"pipeline {definition.name} has no [dead-letters]: nothing to redrive")
    if topic is not None and (fault := topic_name_fault(topic)):
        raise InvalidOption(f"--to {topic!r}: {fault}")
    return Redrive(letters, SinkOptions(client, topic), f"{definition.name}-redrive")


def _values(section: Section) -> tuple[Values, str | None]:
    form = section.text("format", "raw")
    assert form is not None
    if form not in FORMATS:
        raise WrongFile(
            f"values.format must be raw, json or avro, not {form!r}{nearest(form, FORMATS)}"
        )
    if form == "avro":
        registry = section.needed("registry")
        section.done()
        return avro_values(registry, ()), registry
    if form == "raw":
        section.done()
        return RAW, None
    columns = section.section("columns")
    typed = []
    for name in columns.names():
        try:
            typed.append((name, parse_type(columns.needed(name))))
        except InvalidOption as error:
            raise WrongFile(f"values.columns.{name}: {error}") from error
    values = JsonValues(tuple(typed), may_grow=section.boolean("new-columns", default=True))
    section.done()
    return values, None


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
    return Every(given.delay("every", Every(0).millis))  # type: ignore[arg-type]


def _spark(section: Section) -> SparkSettings:
    found = SparkSettings(section.text("master"), section.text("remote"), section.plain("conf"))
    section.done()
    if found.master is not None and found.remote is not None:
        raise WrongFile("[spark] has both master and remote: give one of them")
    return found

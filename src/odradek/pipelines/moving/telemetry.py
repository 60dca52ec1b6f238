"""What happened in a cluster, out of its brokers' logs: outages, ISRs, slow decisions, troubles.

The logs are those of `--log-format json`, an event a line. Lines of anything else are counted and
passed over. Spark reads and adds up; what comes back is small whatever the logs are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from odradek.pipelines.errors import PipelineError

MICROS: Final = 1_000_000
BUCKETS: Final = 60  # about so many bars
WIDTHS_S: Final = (1, 5, 10, 30, 60, 300, 900, 1_800, 3_600, 10_800, 21_600, 86_400)
ROWS_MAX: Final = 100  # of each table
LEVELS: Final = ("error", "warning", "info")


@dataclass(frozen=True, slots=True)
class Logs:
    """Which lines."""

    paths: tuple[str, ...]  # files, directories, patterns with `*`: whatever Spark reads
    last_seconds: int | None = None  # before the newest line


@dataclass(frozen=True, slots=True)
class Bar:
    """What came within one stretch of time, by level."""

    at: float
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class EventCount:
    """One kind of event."""

    event: str
    level: str
    count: int
    first: float
    last: float


@dataclass(frozen=True, slots=True)
class Outage:
    """A broker that the controller took off its list; `seconds` None: it has not come back."""

    broker: int
    at: float
    seconds: float | None


@dataclass(frozen=True, slots=True)
class IsrHistory:
    """How one partition's ISR changed, and how long it was smaller than its largest."""

    partition: str
    changes: int
    smallest: int
    largest: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SlowDecisions:
    """Events of one kind that took the controller long."""

    kind: str
    count: int
    median_ms: int
    max_ms: int


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error or a warning, as it was written."""

    at: float
    log: str
    level: str
    event: str
    line: str


@dataclass(frozen=True)
class Telemetry:
    """All of it; times are seconds since 1970."""

    begin: float
    end: float
    lines: int
    passed_over: int
    logs: dict[str, int]
    bar_seconds: int
    bars: tuple[Bar, ...]
    events: tuple[EventCount, ...]
    outages: tuple[Outage, ...]
    isrs: tuple[IsrHistory, ...]
    slow: tuple[SlowDecisions, ...]
    troubles: tuple[Trouble, ...]


def telemetry(spark: Any, logs: Logs) -> Telemetry:
    """Reads the logs; PipelineError where there are none."""
    lines = _lines(spark, logs).cache()
    try:
        return _added_up(lines, logs)
    finally:
        lines.unpersist()


def _lines(spark: Any, logs: Logs) -> Any:
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as f

    def said(name: str) -> Any:
        return f.get_json_object("value", f"$.{name}")

    try:
        text = spark.read.text(list(logs.paths)).select("value", "_metadata.file_path")
        _ = text.schema
    except AnalysisException as error:
        raise PipelineError(f"the logs cannot be read: {str(error).splitlines()[0]}") from error
    return text.where(f.length("value") > 0).select(
        f.unix_micros(f.try_to_timestamp(said("timestamp"))).alias("at"),
        said("level").alias("level"),
        said("event").alias("event"),
        f.array_join(f.slice(f.split("file_path", "/"), -2, 2), "/").alias("log"),
        "value",
    )


def _added_up(lines: Any, logs: Logs) -> Telemetry:
    from pyspark.sql import functions as f

    events = lines.where("at is not null and event is not null")
    count, known, begin, end = lines.agg(
        f.count("*"), f.count(f.expr("nvl2(event, at, null)")), f.min("at"), f.max("at")
    ).first()
    if not known:
        raise PipelineError(
            f"{', '.join(logs.paths)}: no line of a broker's log with --log-format json"
        )
    if logs.last_seconds is not None:
        begin = max(begin, end - logs.last_seconds * MICROS)
        events = events.where(f.col("at") >= begin)
    seconds = (end - begin) / MICROS
    width = next((it for it in WIDTHS_S if seconds / it <= BUCKETS), WIDTHS_S[-1])
    return Telemetry(
        begin / MICROS,
        end / MICROS,
        count,
        count - known,
        {row.log: row["count"] for row in events.groupBy("log").count().orderBy("log").collect()},
        width,
        _bars(events, width),
        _counts(events),
        _outages(events),
        _isrs(events, end),
        _slow(events),
        _troubles(events),
    )


def _bars(events: Any, width: int) -> tuple[Bar, ...]:
    from pyspark.sql import functions as f

    at = (f.floor(f.col("at") / (width * MICROS)) * width).alias("at")
    rows = events.groupBy(at).pivot("level", list(LEVELS)).count().fillna(0).orderBy("at").collect()
    return tuple(Bar(float(row["at"]), {it: row[it] for it in LEVELS}) for row in rows)


def _counts(events: Any) -> tuple[EventCount, ...]:
    from pyspark.sql import functions as f

    rows = (
        events.groupBy("event", "level")
        .agg(f.count("*").alias("count"), f.min("at").alias("first"), f.max("at").alias("last"))
        .orderBy(f.desc("count"), "event")
        .collect()
    )
    return tuple(
        EventCount(it.event, it.level or "", it["count"], it.first / MICROS, it.last / MICROS)
        for it in rows
    )


def _outages(events: Any) -> tuple[Outage, ...]:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    changed = events.where("event = 'controller.brokers_changed'")
    moves = [
        changed.select(
            "at",
            f.explode(f.from_json(f.get_json_object("value", f"$.{name}"), "array<int>")).alias(
                "broker"
            ),
            f.lit(name).alias("what"),
        )
        for name in ("gone", "arrived")
    ]
    order = Window.partitionBy("broker").orderBy("at", "what")
    rows = (
        moves[0]
        .union(moves[1])
        .withColumn("back", f.lead("at").over(order))
        .where("what = 'gone'")
        .orderBy("at", "broker")
        .limit(ROWS_MAX)
        .collect()
    )
    return tuple(
        Outage(it.broker, it.at / MICROS, None if it.back is None else (it.back - it.at) / MICROS)
        for it in rows
    )


def _isrs(events: Any, end: int) -> tuple[IsrHistory, ...]:
    from pyspark.sql import Window
    from pyspark.sql import functions as f

    size = f.size(f.from_json(f.get_json_object("value", "$.isr"), "array<int>"))
    changes = events.where("event = 'isr.changed'").select(
        "at", f.get_json_object("value", "$.partition").alias("partition"), size.alias("size")
    )
    whole = Window.partitionBy("partition")
    until = f.coalesce(f.lead("at").over(whole.orderBy("at")), f.lit(end))
    rows = (
        changes.withColumn("largest", f.max("size").over(whole))
        .withColumn("micros", f.when(f.col("size") < f.col("largest"), until - f.col("at")))
        .groupBy("partition")
        .agg(
            f.count("*").alias("changes"),
            f.min("size").alias("smallest"),
            f.max("size").alias("largest"),
            f.coalesce(f.sum("micros"), f.lit(0)).alias("micros"),
        )
        .orderBy(f.desc("micros"), f.desc("changes"), "partition")
        .limit(ROWS_MAX)
        .collect()
    )
    return tuple(
        IsrHistory(it.partition, it.changes, it.smallest, it.largest, it.micros / MICROS)
        for it in rows
    )


def _slow(events: Any) -> tuple[SlowDecisions, ...]:
    from pyspark.sql import functions as f

    ms = f.get_json_object("value", "$.ms").cast("long").alias("ms")
    rows = (
        events.where("event = 'controller.slow_event'")
        .select(f.get_json_object("value", "$.kind").alias("kind"), ms)
        .groupBy("kind")
        .agg(
            f.count("*").alias("count"),
            f.percentile_approx("ms", 0.5).alias("median"),
            f.max("ms").alias("most"),
        )
        .orderBy(f.desc("most"))
        .collect()
    )
    return tuple(SlowDecisions(it.kind or "", it["count"], it.median, it.most) for it in rows)


def _troubles(events: Any) -> tuple[Trouble, ...]:
    from pyspark.sql import functions as f

    rows: Sequence[Any] = (
        events.where("level in ('error', 'warning', 'critical')")
        .orderBy(f.desc("at"))
        .limit(ROWS_MAX)
        .collect()
    )
    return tuple(Trouble(it["at"] / MICROS, it.log, it.level, it.event, it.value) for it in rows)

"""What `odradek pipeline status` shows of one table."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from odradek.cli.showing.cells import Size
from odradek.cli.showing.printing import is_terminal, show_table, tell
from odradek.model.counting import counted

if TYPE_CHECKING:
    from odradek.cli.spark.with_spark import Words
    from odradek.pipelines.definition.definition import Definition
    from odradek.pipelines.definition.status import Status

COLUMNS: Final = ("partition", "table_end", "topic_end", "lag", "waiting")


def hours_left(definition: "Definition", found: "Status") -> float | None:
    """Until retention deletes what the table lacks; None: never, or the brokers do not say it."""
    from odradek.pipelines.definition.retention import retention_of
    from odradek.pipelines.errors import PipelineError

    topics = sorted({it.topic for it in found.partitions})
    if not topics:
        return None
    try:
        return found.hours_left(retention_of(definition.archive.source.client, topics))
    except PipelineError:
        return None


def show_statuses(
    found: "Sequence[tuple[Definition, Status, float | None]]", words: "Words", *, many: bool
) -> None:
    """For a person, table by table; in a pipe all rows stand under one line of names."""
    if not is_terminal():
        for definition, it, hours in found:
            if many:
                tell(f"{definition.archive.table}:")
            _tell(definition, it, hours, words)
        rows = [
            (*([definition.archive.table] * many), *row)
            for definition, it, _ in found
            for row in _rows(it)
        ]
        show_table(("table", *COLUMNS) if many else COLUMNS, rows)
        return
    for definition, it, hours in found:
        if many:
            tell(f"{definition.archive.table}:")
        if it.exists:
            show_table(COLUMNS, _rows(it))
        _tell(definition, it, hours, words)


def _rows(found: "Status") -> list[tuple[object, ...]]:
    return [
        (f"{it.topic}-{it.partition}", row.end, row.latest, row.lag, _age(row.waiting_seconds))
        for it, row in found.partitions.items()
        if found.exists
    ]


def _tell(definition: "Definition", found: "Status", hours: float | None, words: "Words") -> None:
    from odradek.pipelines.errors import Away

    if not found.exists:
        tell(f"{definition.archive.table} is not there yet: the first run makes it")
        return
    for fault in found.faults:
        word = "waits" if isinstance(fault, Away) else "stops"
        tell(f"the next run {word}: {words(fault)}")
    for gap in found.gaps:
        tell(f"not in the table: {gap}")
    held = "unknown rows"
    if found.rows is not None and found.files is not None:
        rows_held, files = counted(found.rows, "row"), counted(found.files, "file")
        held = f"{rows_held} in {files} ({Size(found.bytes)})"
    tell(f"{held}, {_known(found.dead_letters)} dead letters, lag {_known(found.lag)}")
    if found.keys:
        tell(f"one row for each {', '.join(found.keys)}{_rewritten(found.rewritten)}")
    if hours is not None:
        tell(f"retention deletes what the table lacks in {hours:.1f} hours")


def status_document(
    definition: "Definition", found: "Status", hours: float | None
) -> dict[str, Any]:
    """For a program."""
    return {
        "pipeline": definition.name,
        "table": definition.archive.table,
        "exists": found.exists,
        "version": found.version,
        "rows": found.rows,
        "files": found.files,
        "bytes": found.bytes,
        "dead_letters": found.dead_letters,
        "keys": list(found.keys),
        "rewritten": found.rewritten,
        "lag": found.lag,
        "waiting_seconds": found.waiting_seconds,
        "hours_until_retention": hours,
        "standstills": list(found.standstills),
        "gaps": [asdict(it) for it in found.gaps],
        "partitions": [
            {
                "topic": it.topic,
                "partition": it.partition,
                "table_end": row.end,
                "topic_end": row.latest,
                "lag": row.lag,
            }
            for it, row in found.partitions.items()
        ],
    }


def _rewritten(times: float | None) -> str:
    return "" if times is None else f"; the last batch wrote {times:.1f} bytes for each it changed"


def _known(count: int | None) -> str:
    return "unknown" if count is None else str(count)


def _age(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s"

"""`odradek pipeline`: what is described in a pipeline's file, checked, tried, run and watched."""

import datetime as dt
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odradek.cli import options as options_of_verbs
from odradek.cli.archive import each, report_account, say_batch, trigger_of
from odradek.cli.client_settings import BOOTSTRAP, client_settings
from odradek.cli.confirming import confirm
from odradek.cli.grammar import LocalVerb, Noun
from odradek.cli.options import options
from odradek.cli.printing import Size, json_text, print_json, show, show_table
from odradek.cli.with_spark import (
    SparkChoice,
    in_sentences,
    spark_session,
    stopped_by_signals,
    with_spark,
)

if TYPE_CHECKING:
    from odradek.pipelines.definition.definition import Definition
    from odradek.pipelines.definition.preview import Shown
    from odradek.pipelines.definition.status import Status
    from odradek.pipelines.moving.dead_letters import DeadLetters
    from odradek.pipelines.moving.reports import Listener

_file = click.argument("file", type=click.Path(path_type=Path))


class EmptyingVerb(LocalVerb):
    """The file names the cluster; it asks before rows are gone."""

    def more(self) -> list[click.Parameter]:
        """`--yes` alone."""
        return [options_of_verbs.without_asking()]


@click.group(cls=Noun)
def command() -> None:
    """Pipelines: topics into tables, as a file describes it."""


@command.command(cls=LocalVerb)
@_file
def check(file: Path) -> None:
    """Check a pipeline's file. Neither Spark nor the brokers are asked."""
    with in_sentences():
        from odradek.pipelines.definition.definition import load

        found = load(file)
    job = found.archive
    document = {
        "pipeline": found.name,
        "source": job.source.client.bootstrap,
        "topics": list(job.source.selection.topics) or job.source.selection.pattern,
        "table": job.table,
        "expectations": [it.name for it in job.checks],
        "dead_letters": _place(job.dead_letters),
    }
    show(document, f"{file}: pipeline {found.name} writes {job.table}; no fault found")


@command.command(cls=LocalVerb)
@with_spark
@_file
@click.option("-n", "count", type=click.IntRange(min=1), default=20, show_default=True)
def preview(*, spark_choice: SparkChoice, file: Path, count: int) -> None:
    """Show what the first records would become: rows, and what gives none. Nothing is kept."""
    with in_sentences():
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.preview import preview as look

        definition = load(file).with_newest_columns()
        choice = _merged(spark_choice, definition)
        shown = look(definition, count, lambda: spark_session(choice))
    if options().as_json:
        print_json([_plain(it) for it in shown])
        return
    rows = [
        (f"{it.topic}-{it.partition}", it.offset, it.reason or _text_of(it.row)) for it in shown
    ]
    show_table(("partition", "offset", "row, or why there is none"), rows)


@command.command(cls=LocalVerb)
@with_spark
@_file
@click.option("--once", is_flag=True, help="End when what is there now is in the table.")
@click.option("--every", metavar="TIME", help="Begin a batch so often, such as 30s.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve figures for Prometheus there.")
def run(
    *,
    spark_choice: SparkChoice,
    file: Path,
    once: bool,
    every: str | None,
    metrics: str | None,
) -> None:
    """Run a pipeline until Ctrl-C, or as its trigger says.

    Its progress is also committed to a group of the pipeline's name, for every tool of Kafka's.
    """
    with in_sentences():
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.progress import Figures, GroupProgress, served
        from odradek.pipelines.moving.archive import archive
        from odradek.pipelines.moving.triggers import Once

        definition = load(file).with_newest_columns()
        job, figures = definition.archive, Figures(definition.name)
        trigger = trigger_of(every, once=once) if once or every else definition.trigger
        notes: list[Listener] = [GroupProgress(job.source.client, definition.name), figures]
        if not isinstance(trigger, Once) and not options().as_json:
            notes.append(say_batch)
        with ExitStack() as stack:
            if metrics is not None:
                host, _, port = metrics.rpartition(":")
                if not host or not port.isdigit():
                    raise click.BadParameter(f"{metrics!r} is no HOST:PORT", param_hint="--metrics")
                at = stack.enter_context(served(figures, host, int(port)))
                click.echo(f"figures at http://{host}:{at}/metrics", err=True)
            spark = stack.enter_context(spark_session(_merged(spark_choice, definition)))
            stopping = stack.enter_context(stopped_by_signals())
            total = archive(spark, job, trigger, on_batch=each(notes), stopping=stopping)
    report_account(total)


@command.command(cls=LocalVerb)
@_file
def status(file: Path) -> None:
    """Show how far the table is: lag, freshness, time until retention overtakes it, files."""
    with in_sentences():
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.retention import retention_of
        from odradek.pipelines.definition.status import status as ask

        definition = load(file)
        found = ask(definition)
        topics = sorted({it.topic for it in found.partitions})
        hours = found.hours_left(retention_of(definition.archive.source.client, topics))
    if options().as_json:
        print_json(_status_document(definition, found, hours))
        return
    if not found.exists:
        click.echo(f"{definition.archive.table} is not there yet: the first run makes it")
        return
    rows = [
        (f"{it.topic}-{it.partition}", row.end, row.latest, row.lag, _age(row.waiting_seconds))
        for it, row in found.partitions.items()
    ]
    show_table(("partition", "table_end", "topic_end", "lag", "waiting"), rows)
    click.echo(
        f"{found.rows} rows in {found.files} files ({Size(found.bytes)}), "
        f"{found.dead_letters} dead letters, lag {found.lag}"
    )
    if hours is not None:
        click.echo(f"retention deletes what the table lacks in {hours:.1f} hours")


@command.command(cls=LocalVerb)
@with_spark
@_file
@click.option("--from", "start", required=True, metavar="POINT", help="-2h, a time, or offsets.")
@click.option("--to", "end", metavar="POINT", help="A time or offsets.  [default: the table's end]")
def backfill(*, spark_choice: SparkChoice, file: Path, start: str, end: str | None) -> None:
    """Make exactly the rows of a range again, after a format or the file was mended."""
    with in_sentences():
        from odradek.pipelines.definition.definition import load, within
        from odradek.pipelines.moving.backfill import backfill as fill

        definition = load(file).with_newest_columns()
        job = within(definition.archive, start, end)
        with spark_session(_merged(spark_choice, definition)) as spark:
            total = fill(spark, job)
    report_account(total)


@command.command(cls=LocalVerb)
@with_spark
@_file
@click.option("--to", "topic", metavar="TOPIC", help="Another one than those they came from.")
def redrive(*, spark_choice: SparkChoice, file: Path, topic: str | None) -> None:
    """Send the dead letters again, as the records that they were, to the topics they came from.

    They are not dead letters any more once all are sent. After a crash some may be sent twice.
    """
    with in_sentences():
        from odradek.pipelines.definition.definition import load, redriving
        from odradek.pipelines.moving.redrive import redrive as send

        definition = load(file)
        job = redriving(definition, topic)
        with spark_session(_merged(spark_choice, definition)) as spark:
            sent = send(spark, job)
    show({"sent": sent}, f"{sent} dead letters sent to {topic or 'where they came from'}")


@command.command(cls=EmptyingVerb)
@_file
def reset(file: Path) -> None:
    """Empty the table, so that the next run begins at the source's start."""
    with in_sentences():
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.reset import reset as empty

        definition = load(file)
        confirm(f"all rows of {definition.archive.table} will be gone")
        gone = empty(definition)
    show({"table": definition.archive.table, "rows": gone}, f"{gone} rows are gone")


@command.command()
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--topics", required=True, metavar="NAME,...", help="What its table is made of.")
def init(directory: Path, topics: str) -> None:
    """Write a project of Spark Declarative Pipelines that reads topics, ready to run."""
    with in_sentences():
        from odradek.pipelines.definition.project import make_project

        files = make_project(directory, client_settings()[BOOTSTRAP], topics.split(","))
    show(
        {"files": [str(it) for it in files]},
        f"{directory}/run reads what is new in {topics} into the tables of the project",
    )


def _merged(choice: SparkChoice, definition: "Definition") -> SparkChoice:
    """The command line comes before the file."""
    said = definition.spark
    if choice.master or choice.remote:
        return SparkChoice(choice.master, choice.remote, {**said.conf, **choice.conf})
    return SparkChoice(said.master, said.remote, {**said.conf, **choice.conf})


def _place(letters: "DeadLetters | None") -> str | None:
    if letters is None:
        return None
    return getattr(letters, "topic", None) or getattr(letters, "location", None)


def _age(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.0f} s"


def _text_of(row: dict[str, Any] | None) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in (row or {}).items())


def _plain(shown: "Shown") -> dict[str, Any]:
    return {
        "topic": shown.topic,
        "partition": shown.partition,
        "offset": shown.offset,
        "row": _as_json(shown.row),
        "reason": shown.reason or None,
    }


def _as_json(value: Any) -> Any:
    """Times as ISO 8601, decimals as texts, bytes as text or base64."""
    match value:
        case dict():
            return {name: _as_json(it) for name, it in value.items()}
        case list():
            return [_as_json(it) for it in value]
        case bytes():
            return json_text(value)
        case dt.date():
            return value.isoformat()
        case Decimal():
            return str(value)
    return value


def _status_document(
    definition: "Definition", found: "Status", hours: float | None
) -> dict[str, Any]:
    return {
        "pipeline": definition.name,
        "table": definition.archive.table,
        "exists": found.exists,
        "version": found.version,
        "rows": found.rows,
        "files": found.files,
        "bytes": found.bytes,
        "dead_letters": found.dead_letters,
        "lag": found.lag,
        "waiting_seconds": found.waiting_seconds,
        "hours_until_retention": hours,
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

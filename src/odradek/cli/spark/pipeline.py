"""`odradek pipeline`: what is described in a pipeline's file, checked, tried, run and watched."""

import datetime as dt
from collections.abc import Callable
from contextlib import ExitStack
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odradek.cli.reaching.client_settings import BOOTSTRAP, client_settings
from odradek.cli.showing.confirming import confirm
from odradek.cli.showing.printing import json_text, print_json, show, show_table, tell
from odradek.cli.spark.archive import each, report_account, say_batch, trigger_of
from odradek.cli.spark.pipeline_status import hours_left, show_statuses, status_document
from odradek.cli.spark.watching import serve_figures
from odradek.cli.spark.with_spark import (
    SparkChoice,
    in_file,
    in_sentences,
    kafka_options,
    spark_session,
    stopped_by_signals,
    watched_session,
    with_spark,
)
from odradek.cli.words import options as options_of_verbs
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import LocalVerb, Noun
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options
from odradek.model.counting import counted

if TYPE_CHECKING:
    from odradek.pipelines.definition.definition import Definition
    from odradek.pipelines.definition.preview import Shown
    from odradek.pipelines.moving.archiving.archive import Archive
    from odradek.pipelines.moving.archiving.dead_letters import DeadLetters
    from odradek.pipelines.moving.reports import Listener

_file = click.argument("file", type=click.Path(path_type=Path))
_topic = click.option("--topic", metavar="NAME", help="Whose table, where each topic has one.")


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
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load

        found = load(file)
    job = found.archive
    document = {
        "pipeline": found.name,
        "source": job.source.client.bootstrap,
        "topics": list(job.source.selection.topics) or job.source.selection.pattern,
        "table": job.table,
        "keys": list(job.keys),
        "expectations": [it.name for it in job.checks],
        "dead_letters": _place(job.dead_letters),
    }
    show(document, f"{file}: pipeline {found.name} writes {job.table}; no fault found")


@command.command(cls=LocalVerb)
@with_spark
@_file
@_topic
@click.option("-n", "count", type=Whole(min=1), default=20, show_default=True)
def preview(*, spark_choice: SparkChoice, file: Path, count: int, topic: str | None) -> None:
    """Show what the first records would become: rows, and what gives none. Nothing is kept."""
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.preview import preview as look
        from odradek.pipelines.definition.topics import chosen

        definition = chosen(load(file), topic).with_newest_columns()
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
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.progress import Figures, GroupProgress
        from odradek.pipelines.definition.topics import is_for_each
        from odradek.pipelines.moving.archiving.archive import archive
        from odradek.pipelines.moving.archiving.many import archive_each
        from odradek.pipelines.moving.archiving.triggers import Once

        definition = load(file)
        if not is_for_each(definition):
            definition = definition.with_newest_columns()
        job, figures = definition.archive, Figures(definition.name)
        trigger = trigger_of(every, once=once) if once or every else definition.trigger
        notes: list[Listener] = [GroupProgress(job.source.client, definition.name), figures]
        if not isinstance(trigger, Once) and not options().as_json:
            notes.append(say_batch)
        with ExitStack() as stack:
            serve_figures(stack, figures, metrics)
            choice = _merged(spark_choice, definition)
            spark, watch = stack.enter_context(watched_session(choice))
            notes.append(watch.heard)
            stopping = stack.enter_context(stopped_by_signals())
            if is_for_each(definition):
                total = archive_each(
                    spark,
                    lambda: _jobs(definition),
                    trigger,
                    on_batch=each(notes),
                    stopping=stopping,
                )
            else:
                total = archive(spark, job, trigger, on_batch=each(notes), stopping=stopping)
    report_account(total)


@command.command(cls=LocalVerb)
@_file
def status(file: Path) -> None:
    """Show how far the table is: lag, freshness, time until retention overtakes it, files."""
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.status import statuses
        from odradek.pipelines.definition.topics import is_for_each

        definition = load(file)
        told = statuses(definition)
        found = [(one, it, hours_left(one, it)) for one, it in told.each]
    many = is_for_each(definition)
    if options().as_json:
        documents = [status_document(*it) for it in found]
        print_json(documents if many else documents[0])
        return
    show_statuses(found, in_file(file), many=many)
    if told.fault is not None:
        tell(f"there may be other tables: {in_file(file)(told.fault)}")


@command.command(cls=LocalVerb)
@with_spark
@_file
@_topic
@click.option("--from", "start", required=True, metavar="POINT", help="-2h, a time, or offsets.")
@click.option("--to", "end", metavar="POINT", help="A time or offsets.  [default: the table's end]")
def backfill(
    *, spark_choice: SparkChoice, file: Path, topic: str | None, start: str, end: str | None
) -> None:
    """Make exactly the rows of a range again, after a format or the file was mended."""
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load, within
        from odradek.pipelines.definition.topics import chosen
        from odradek.pipelines.moving.archiving.backfill import backfill as fill

        definition = chosen(load(file), topic).with_newest_columns()
        job = within(definition.archive, start, end)
        with spark_session(_merged(spark_choice, definition)) as spark:
            total = fill(spark, job)
    report_account(total)


@command.command(cls=LocalVerb)
@with_spark
@_file
@_topic
@click.option("--to", "target", metavar="TOPIC", help="Another one than those they came from.")
@click.option("--exactly-once", is_flag=True, help="In transactions; of letters in a topic.")
def redrive(
    *,
    spark_choice: SparkChoice,
    file: Path,
    topic: str | None,
    target: str | None,
    exactly_once: bool,
) -> None:
    """Send the dead letters again, as the records that they were, to the topics they came from.

    They are not dead letters any more once all are sent. After a crash some may be sent twice,
    without --exactly-once.
    """
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load, redriving
        from odradek.pipelines.definition.topics import chosen
        from odradek.pipelines.moving.replaying.redrive import redrive as send

        definition = chosen(load(file), topic)
        job = redriving(definition, target, exactly_once=exactly_once)
        with spark_session(_merged(spark_choice, definition)) as spark:
            sent = send(spark, job)
    show({"sent": sent}, f"{sent} dead letters sent to {target or 'where they came from'}")


@command.command(cls=EmptyingVerb)
@_file
@_topic
def reset(file: Path, *, topic: str | None) -> None:
    """Empty the table, so that the next run begins at the source's start."""
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.reset import reset as empty
        from odradek.pipelines.definition.topics import chosen

        definition = chosen(load(file), topic)
        confirm(f"all rows of {definition.archive.table} will be gone")
        gone = empty(definition)
    show({"table": definition.archive.table, "rows": gone}, f"{counted(gone, 'row')} removed")


@command.command(cls=LocalVerb)
@_file
@_topic
@click.option("--new-topic", is_flag=True, required=True, help="The one that has the name now.")
def follow(file: Path, *, topic: str | None, new_topic: bool) -> None:
    """Go on with a topic that was deleted and made again, at its first record.

    The rows of the one before stay.
    """
    del new_topic
    with in_sentences(in_file(file)):
        from odradek.pipelines.definition.definition import load
        from odradek.pipelines.definition.follow import follow_new_topics
        from odradek.pipelines.definition.topics import chosen

        definition = chosen(load(file), topic)
        names = follow_new_topics(definition)
    text = f"{definition.archive.table} goes on with the new {', '.join(names)}"
    nothing = "no topic was made again: nothing is changed"
    show({"table": definition.archive.table, "topics": list(names)}, text if names else nothing)


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


@command.command()
@click.option("--topics", required=True, metavar="NAME,...", help="Whose records are looked at.")
@click.option("--to", "table", metavar="TABLE", help="Of the file.  [default: delta:lake/TOPIC]")
@click.option("-n", "count", type=Whole(min=2), default=10_000, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="A file that is new.")
def draft(topics: str, table: str | None, count: int, output: Path | None) -> None:
    """Draft a pipeline's file from records: each column, its type, and what contradicts."""
    with in_sentences():
        from odradek.pipelines.definition.draft import draft as look
        from odradek.pipelines.definition.draft import text_of
        from odradek.pipelines.source.options import Mode, parse

        names = topics.split(",")
        source = parse({**kafka_options(), "subscribe": topics}, Mode.BATCH)
        text = text_of(
            look(source, count), source.client.bootstrap, names, table or f"delta:lake/{names[0]}"
        )
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        with output.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise Failed(f"{output}: {error.strerror}") from error
    show({"file": str(output)}, f"{output} is drafted: `odradek pipeline check {output}`")


def _jobs(definition: "Definition") -> "dict[str, Callable[[], Archive]]":
    """What there is to do for each topic that there is now."""
    from odradek.pipelines.definition.topics import of_each

    def job(one: "Definition") -> "Archive":
        return one.with_newest_columns().archive

    return {name: partial(job, it) for name, it in of_each(definition).items()}


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

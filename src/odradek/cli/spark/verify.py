"""`odradek verify`: a table held against the log that it was made of."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from odradek.cli.reaching.talking import settings_of
from odradek.cli.showing.printing import print_json
from odradek.cli.spark.with_spark import (
    SparkChoice,
    in_sentences,
    kafka_options,
    selection,
    spark_session,
    with_spark,
)
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import Verb
from odradek.cli.words.options import options
from odradek.model.counting import counted

if TYPE_CHECKING:
    from odradek.pipelines.moving.comparing.verify import Verified


@click.command(cls=Verb)
@with_spark
@click.option("--topics", metavar="NAME,...", help="Topics, or one with * in it.")
@click.option("--table", metavar="TABLE", help="delta:DIR, iceberg:DIR, ...")
@click.option(
    "--pipeline",
    "file",
    type=click.Path(path_type=Path),
    help="A pipeline's file, in place of both: of a table with one row for each key.",
)
@click.option("--compacted", is_flag=True, help="Rows without a record in the log are no fault.")
@click.option(
    "--option", "table_options", multiple=True, metavar="NAME=VALUE", help="Of the table."
)
def command(
    *,
    spark_choice: SparkChoice,
    topics: str | None,
    table: str | None,
    file: Path | None,
    compacted: bool,
    table_options: tuple[str, ...],
) -> None:
    """Compare a table with the log: gaps, doubles, content.

    Compared are the offsets that both have. Exit code 1 if a fault is found.
    """
    if file is not None and (topics or table):
        raise click.UsageError("--pipeline says topics and table: leave these out")
    if file is None and not (topics and table):
        raise click.UsageError("give --topics and --table, or --pipeline FILE")
    with in_sentences():
        compare = (
            _with_keys(file)
            if file is not None
            else _each_record(topics or "", table or "", table_options, compacted=compacted)
        )
        with spark_session(spark_choice) as spark:
            done = compare(spark)
    if options().as_json:
        print_json(
            {
                "records": done.records,
                "rows": done.rows,
                "findings": [
                    {
                        "kind": it.kind,
                        "topic": it.topic,
                        "partition": it.partition,
                        "first": it.first,
                        "last": it.last,
                        "detail": it.detail,
                    }
                    for it in done.findings
                ],
            }
        )
    else:
        for it in done.findings:
            click.echo(str(it))
        log, table = counted(done.records, "record"), counted(done.rows, "row")
        click.echo(f"{log} of the log, {table} of the table compared")
    if done.findings:
        raise Failed(f"{counted(len(done.findings), 'fault')} found")


def _each_record(
    topics: str, table: str, table_options: tuple[str, ...], *, compacted: bool
) -> "Callable[[Any], Verified]":
    from odradek.pipelines.moving.comparing.verify import Verify, verify
    from odradek.pipelines.source.options import Mode, parse

    source = parse({**kafka_options(), **selection(topics)}, Mode.BATCH)
    job = Verify(source, table, settings_of(table_options), compacted)
    return lambda spark: verify(spark, job)


def _with_keys(file: Path) -> "Callable[[Any], Verified]":
    from odradek.pipelines.definition.definition import load
    from odradek.pipelines.errors import PipelineError
    from odradek.pipelines.moving.comparing.verify_keys import verify_keys

    job = load(file).with_newest_columns().archive
    if not job.keys:
        raise PipelineError(
            f"{file} adds a row for each record: give --topics and --table to verify it"
        )
    return lambda spark: verify_keys(spark, job)

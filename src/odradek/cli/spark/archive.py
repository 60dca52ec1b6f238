"""`odradek archive`: topics into a table, without a pipeline's file."""

import re
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odradek.cli.reaching.talking import settings_of
from odradek.cli.showing.printing import print_json
from odradek.cli.spark.watching import CLEAR, serve_figures
from odradek.cli.spark.with_spark import (
    SparkChoice,
    in_archive,
    in_sentences,
    kafka_options,
    selection,
    stopped_by_signals,
    watched_session,
    with_spark,
)
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options
from odradek.model.counting import counted

if TYPE_CHECKING:
    from odradek.pipelines.moving.archiving.triggers import Trigger
    from odradek.pipelines.moving.reports import Account, BatchReport, Listener

UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


@click.command(cls=Verb)
@with_spark
@click.option("--topics", required=True, metavar="NAME,...", help="Topics, or one with * in it.")
@click.option("--to", "table", required=True, metavar="TABLE", help="delta:DIR, iceberg:DIR, ...")
@click.option("--format", "form", type=click.Choice(["raw"]), default="raw", show_default=True)
@click.option("--start", default="earliest", show_default=True, help="Or -10m, a time.")
@click.option("--partition-by", multiple=True, metavar="COLUMN", help="Or day(COLUMN).")
@click.option("--checkpoint", type=click.Path(path_type=Path, file_okay=False), metavar="DIR")
@click.option("--max-offsets-per-trigger", type=Whole(min=1), metavar="N")
@click.option("--max-bytes-per-trigger", metavar="SIZE", help="Such as 512m.")
@click.option("--skip-lost", is_flag=True, help="Go on where records are gone or damaged.")
@click.option(
    "--option", "table_options", multiple=True, metavar="NAME=VALUE", help="Of the table."
)
@click.option("--once", is_flag=True, help="End when what is there now is archived.")
@click.option("--every", metavar="TIME", help="Begin a batch so often, such as 30s.")
@click.option("--group", metavar="NAME", help="Show the progress as this group's, too.")
@click.option("--metrics", metavar="HOST:PORT", help="Serve figures for Prometheus there.")
def command(  # noqa: PLR0913 - each is an option
    *,
    spark_choice: SparkChoice,
    topics: str,
    table: str,
    form: str,
    start: str,
    partition_by: tuple[str, ...],
    checkpoint: Path | None,
    max_offsets_per_trigger: int | None,
    max_bytes_per_trigger: str | None,
    skip_lost: bool,
    table_options: tuple[str, ...],
    once: bool,
    every: str | None,
    group: str | None,
    metrics: str | None,
) -> None:
    """Archive topics in a table, exactly once.

    The table is delta:DIR, parquet:DIR, iceberg:DIR/ or iceberg:CATALOG.NAMESPACE.NAME; DIR may be
    s3://BUCKET/PREFIX, gs:// or abfss:// for the first two. It says where the next batch begins, so
    --checkpoint keeps nothing that is needed.
    Without --once it goes on until Ctrl-C.
    """
    del form
    given: dict[str, object] = {
        **kafka_options(),
        **selection(topics),
        "failOnDataLoss": "false" if skip_lost else "true",
        "maxOffsetsPerTrigger": max_offsets_per_trigger,
        "maxBytesPerTrigger": max_bytes_per_trigger,
    }
    with in_sentences(in_archive):
        from odradek.pipelines.definition.progress import Figures, GroupProgress
        from odradek.pipelines.moving.archiving.archive import Archive, archive
        from odradek.pipelines.moving.archiving.checkpoint import Checkpoint
        from odradek.pipelines.source.options import Mode, parse
        from odradek.pipelines.source.points import point_options

        given |= point_options("--start", start, "starting")
        source = parse({k: str(v) for k, v in given.items() if v is not None}, Mode.STREAM)
        job = Archive(source, table, settings_of(table_options), partitioning=partition_by)
        figures = Figures(group or table)
        notes: list[Listener] = [figures]
        if group is not None:
            notes.append(GroupProgress(source.client, group))
        if checkpoint is not None:
            kept = Checkpoint(checkpoint, table)
            kept.check(source)
            notes.append(kept.keep)
        if not once and not options().as_json:
            notes.append(say_batch)
        trigger = trigger_of(every, once=once)
        with ExitStack() as stack:
            serve_figures(stack, figures, metrics)
            spark, watch = stack.enter_context(watched_session(spark_choice))
            stopping = stack.enter_context(stopped_by_signals())
            notes.append(watch.heard)
            total = archive(spark, job, trigger, on_batch=each(notes), stopping=stopping)
    report_account(total)


def trigger_of(every: str | None, *, once: bool) -> "Trigger":
    """What --once and --every say."""
    from odradek.model.units import Millis
    from odradek.pipelines.moving.archiving.triggers import Continuous, Every, Once

    if once and every:
        raise click.UsageError("--once and --every are two ways; give one")
    if every is None:
        return Once() if once else Continuous()
    found = re.fullmatch(r"(\d{1,9})(ms|s|m|h)", every)
    if found is None:
        raise click.BadParameter(f"{every!r} is no duration such as 30s", param_hint="--every")
    return Every(Millis(int(found[1]) * UNITS[found[2]]))


def each(notes: "Sequence[Listener]") -> "Listener":
    """Tells all of them."""

    def told(report: "BatchReport") -> None:
        for note in notes:
            note(report)

    return told


def say_batch(report: "BatchReport") -> None:
    """A line for a person who watches."""
    account = report.account
    skipped = f", {counted(account.skipped, 'offset')} skipped" if account.skipped else ""
    took = f"{report.duration_ms} ms"
    clear = CLEAR if sys.stderr.isatty() else ""
    rows = counted(account.written, "row")
    click.echo(f"{clear}batch {report.number}: {rows}{skipped}, {took}", err=True)


def report_account(total: "Account") -> None:
    """What became of all records."""
    if options().as_json:
        print_json(
            {
                "read": total.read,
                "written": total.written,
                "dropped": total.dropped,
                "dead": total.dead,
                "bytes": total.bytes,
                "skipped": total.skipped,
                "rewritten": total.rewritten,
            }
        )
        return
    more = f"; {counted(total.skipped, 'offset')} skipped" if total.skipped else ""
    if total.rewritten is not None:
        more += f"; {total.rewritten:.1f} bytes rewritten for each byte changed"
    click.echo(
        f"{counted(total.read, 'record')} read: {total.written} written, {total.dropped} dropped, "
        f"{counted(total.dead, 'dead letter')}{more}"
    )

"""`odradek compact`: the upkeep of a table."""

import click

from odradek.cli.reaching.talking import settings_of
from odradek.cli.showing.printing import print_json
from odradek.cli.spark.with_spark import SparkChoice, in_sentences, spark_session, with_spark
from odradek.cli.words.grammar import LocalVerb
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options
from odradek.model.counting import counted

HOUR_MS = 3_600_000


@click.command(cls=LocalVerb)
@with_spark
@click.argument("table")
@click.option("--file-mb", type=Whole(min=1), default=128, show_default=True)
@click.option(
    "--keep-hours",
    type=Whole(min=0),
    default=168,
    show_default=True,
    help="How long versions that were replaced can be read.",
)
@click.option(
    "--option", "table_options", multiple=True, metavar="NAME=VALUE", help="Of the table."
)
def command(
    *,
    spark_choice: SparkChoice,
    table: str,
    file_mb: int,
    keep_hours: int,
    table_options: tuple[str, ...],
) -> None:
    """Merge a table's small files, forget old versions, delete orphans.

    TABLE is delta:DIR, parquet:DIR, iceberg:DIR or iceberg:CATALOG.NAMESPACE.NAME. An archive may
    write to it meanwhile.
    """
    with in_sentences():
        from odradek.pipelines.moving.compact import Upkeep, compact

        job = Upkeep(table, settings_of(table_options), file_mb << 20, keep_hours * HOUR_MS)
        with spark_session(spark_choice) as spark:
            done = compact(spark, job)
    if options().as_json:
        print_json(
            {
                "merged": done.merged,
                "into": done.into,
                "expired": done.expired,
                "orphans": done.orphans,
            }
        )
    else:
        click.echo(
            f"{counted(done.merged, 'file')} merged into {done.into}; "
            f"{counted(done.expired, 'version')} forgotten, "
            f"{counted(done.orphans, 'orphan')} deleted"
        )

"""`odradek verify`: a table held against the log that it was made of."""

import click

from odradek.cli.failing import Failed
from odradek.cli.grammar import Verb
from odradek.cli.options import options
from odradek.cli.printing import print_json
from odradek.cli.talking import settings_of
from odradek.cli.with_spark import (
    SparkChoice,
    in_sentences,
    kafka_options,
    selection,
    spark_session,
    with_spark,
)


@click.command(cls=Verb)
@with_spark
@click.option("--topics", required=True, metavar="NAME,...", help="Topics, or one with * in it.")
@click.option("--table", required=True, metavar="TABLE", help="delta:DIR, iceberg:DIR, ...")
@click.option("--compacted", is_flag=True, help="Rows without a record in the log are no fault.")
@click.option(
    "--option", "table_options", multiple=True, metavar="NAME=VALUE", help="Of the table."
)
def command(
    *,
    spark_choice: SparkChoice,
    topics: str,
    table: str,
    compacted: bool,
    table_options: tuple[str, ...],
) -> None:
    """Compare a table with the log: gaps, doubles, content.

    Compared are the offsets that both have. Exit code 1 if a fault is found.
    """
    with in_sentences():
        from odradek.pipelines.moving.verify import Verify, verify
        from odradek.pipelines.source.options import Mode, parse

        source = parse({**kafka_options(), **selection(topics)}, Mode.BATCH)
        job = Verify(source, table, settings_of(table_options), compacted)
        with spark_session(spark_choice) as spark:
            done = verify(spark, job)
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
        click.echo(f"{done.records} records of the log, {done.rows} rows of the table compared")
    if done.findings:
        count = len(done.findings)
        raise Failed(f"{count} fault{'s' if count > 1 else ''} found")

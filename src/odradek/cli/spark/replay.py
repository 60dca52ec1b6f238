"""`odradek replay`: a table of raw records back into a topic."""

import click

from odradek.cli.reaching.talking import settings_of
from odradek.cli.showing.printing import print_json
from odradek.cli.spark.with_spark import (
    SparkChoice,
    in_sentences,
    kafka_options,
    spark_session,
    with_spark,
)
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options
from odradek.model.counting import counted


@click.command(cls=Verb)
@with_spark
@click.option("--from", "table", required=True, metavar="TABLE", help="delta:DIR, iceberg:DIR, ...")
@click.option("--to", "target", required=True, metavar="TOPIC", help="The topic; it must exist.")
@click.option("--topic", metavar="NAME", help="Which, if the table holds several; or an id.")
@click.option("--rate", type=Whole(min=1), metavar="N", help="Rows a second, at most.")
@click.option("--resume", is_flag=True, help="Leave out as many rows as the topic holds.")
@click.option(
    "--exactly-once",
    "transactional_id",
    metavar="NAME",
    help="In transactions with this id: no row twice, and it goes on where it ended.",
)
@click.option(
    "--option", "table_options", multiple=True, metavar="NAME=VALUE", help="Of the table."
)
def command(  # noqa: PLR0913 - each is an option
    *,
    spark_choice: SparkChoice,
    table: str,
    target: str,
    topic: str | None,
    rate: int | None,
    resume: bool,
    transactional_id: str | None,
    table_options: tuple[str, ...],
) -> None:
    """Send the rows of a table into a topic again.

    Partitions, order, keys, values, timestamps and headers are kept. The topic must not be written
    by others meanwhile, unless it is sent in transactions.
    """
    if resume and transactional_id:
        raise click.UsageError("--exactly-once goes on where it ended; leave --resume out")
    with in_sentences():
        from odradek.pipelines.moving.replaying.replay import Replay, replay
        from odradek.pipelines.sink.options import parse

        chosen = {**kafka_options(), "topic": target}
        if transactional_id:
            chosen |= {"exactlyOnce": "true", "kafka.transactional.id": transactional_id}
        sink = parse(chosen)
        job = Replay(table, sink, settings_of(table_options), topic, rate, resume)
        with spark_session(spark_choice) as spark:
            done = replay(spark, job)
    if options().as_json:
        print_json({"sent": done.sent, "held": done.held})
    else:
        click.echo(f"{counted(done.sent, 'record')} sent to {target}; it held {done.held} already")

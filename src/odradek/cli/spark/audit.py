"""`odradek audit`: replicas held against each other."""

from pathlib import Path

import click

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


@click.command(cls=Verb)
@with_spark
@click.option("--topics", metavar="NAME,...", help="Ask the brokers for their copies of these.")
@click.option(
    "--log-dir",
    "log_dirs",
    multiple=True,
    metavar="BROKER=DIR",
    help="Read the copies of a broker in this log dir. Can be repeated.",
)
def command(*, spark_choice: SparkChoice, topics: str | None, log_dirs: tuple[str, ...]) -> None:
    """Compare the replicas of partitions with each other.

    Below what is committed they must be equal. Give --topics, or --log-dir for two brokers at
    least; Spark's workers must see these directories. Exit code 1 if a fault is found.
    """
    if bool(topics) == bool(log_dirs):
        raise click.UsageError("give either --topics or --log-dir")
    with in_sentences():
        from odradek.pipelines.moving.comparing.audit import audit_brokers, audit_directories
        from odradek.pipelines.source.options import Mode, parse

        with spark_session(spark_choice) as spark:
            if topics:
                source = parse({**kafka_options(), **selection(topics)}, Mode.BATCH)
                done = audit_brokers(spark, source)
            else:
                done = audit_directories(spark, _by_broker(log_dirs))
    if options().as_json:
        rows = [
            {
                "kind": it.kind,
                "topic": it.topic,
                "partition": it.partition,
                "first": it.first,
                "last": it.last,
                "replica": it.replica,
                "place": it.place,
                "detail": it.detail,
            }
            for it in done.faults
        ]
        print_json({"partitions": done.partitions, "batches": done.batches, "faults": rows})
    else:
        for it in done.faults:
            click.echo(str(it))
        partitions = counted(done.partitions, "partition")
        click.echo(f"{counted(done.batches, 'batch')} of {partitions} compared")
    if done.faults:
        raise Failed(f"{counted(len(done.faults), 'fault')} found")


def _by_broker(log_dirs: tuple[str, ...]) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for text in log_dirs:
        broker, equals, folder = text.partition("=")
        if not equals or not broker or not folder:
            raise click.BadParameter(f"{text!r} is not BROKER=DIR", param_hint="--log-dir")
        found.setdefault(broker, []).append(Path(folder).absolute())
    return found

"""`odradek telemetry`: what happened in a cluster, out of its brokers' logs, as one page."""

import re
from pathlib import Path

import click

from odradek.cli.showing.printing import show
from odradek.cli.spark.with_spark import SparkChoice, in_sentences, spark_session, with_spark
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import LocalVerb
from odradek.model.counting import counted

SECONDS = {"m": 60, "h": 3_600, "d": 86_400}


@click.command(cls=LocalVerb)
@with_spark
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("telemetry.html"),
    show_default=True,
)
@click.option("--last", metavar="TIME", help="Only the newest, such as 24h.")
def command(
    *, spark_choice: SparkChoice, logs: tuple[str, ...], out: Path, last: str | None
) -> None:
    """Show what happened in a cluster by its brokers' logs, as an HTML page.

    The logs are those of `odradek serve --log-format json`; each may be a file, a directory or a
    pattern with *.
    """
    seconds = None if last is None else _seconds(last)
    with in_sentences():
        from odradek.pipelines.moving.telemetry import Logs, telemetry
        from odradek.pipelines.moving.telemetry_page import page

        with spark_session(spark_choice) as spark:
            found = telemetry(spark, Logs(logs, seconds))
    try:
        out.write_text(page(found), encoding="utf-8")
    except OSError as error:
        raise Failed(f"{out} cannot be written: {error.strerror}") from error
    document = {
        "page": str(out),
        "lines": found.lines,
        "passed_over": found.passed_over,
        "errors": sum(it.count for it in found.events if it.level == "error"),
        "outages": len(found.outages),
    }
    outages = counted(len(found.outages), "outage")
    show(document, f"{out}: {counted(found.lines, 'line')}, {outages} of brokers")


def _seconds(text: str) -> int:
    found = re.fullmatch(r"(\d{1,6})([mhd])", text)
    if found is None:
        raise click.BadParameter(f"{text!r} is no time such as 24h or 7d", param_hint="--last")
    return int(found[1]) * SECONDS[found[2]]

"""`kafka-console-producer`: each line of standard input becomes a record of a topic."""

import sys
from typing import Final

import click

from odradek.cli.kafka.script import Misused, Script
from odradek.cli.reaching.talking import talk
from odradek.cli.records.produce import Sender, Source, settings_of_producer
from odradek.cli.words.escapes import unescaped
from odradek.cli.words.failing import INTERRUPTED, Failed
from odradek.cli.words.options import options, pairs

KNOWN: Final = ("parse.key", "key.separator", "null.marker", "ignore.error")


@click.command("kafka-console-producer", cls=Script)
@click.option("--topic", required=True)
@click.option("--property", "--reader-property", "properties", multiple=True, metavar="NAME=VALUE")
@click.option("--producer-property", "--command-property", "settings", multiple=True)
@click.option("--compression-codec", is_flag=False, flag_value="gzip")
@click.option("--request-required-acks", "acks")
@click.option("--batch-size", type=int, help="Taken and ignored.")
@click.option("--sync", is_flag=True, help="Taken and ignored.")
@click.option("--timeout", type=int, help="Taken and ignored.")
def command(  # noqa: PLR0913 - each is an option
    *,
    topic: str,
    properties: tuple[str, ...],
    settings: tuple[str, ...],
    compression_codec: str | None,
    acks: str | None,
    batch_size: int | None,
    sync: bool,
    timeout: int | None,
) -> None:
    """Kafka's script that produces lines."""
    del batch_size, sync, timeout
    options().settings |= pairs(settings)
    said = pairs(properties)
    for name in said:
        if name not in KNOWN:
            raise Failed(f"--property {name} is not known here; known are {', '.join(KNOWN)}")
    has_keys = said.get("parse.key", "false") == "true"
    if said.get("null.marker"):
        raise Misused("null.marker is not known here: `odradek produce TOPIC -Z` makes nulls")
    separator = unescaped(said.get("key.separator", "\t"), "key.separator") if has_keys else None
    source = Source(topic, None, None, None, separator, (), nulls=False, as_json=False)
    how = settings_of_producer(compression_codec, acks)
    sent = talk(lambda cluster: Sender(cluster, source, how).run(), endless=True)
    if sent.interrupted:
        sys.exit(INTERRUPTED)

"""`odradek produce`: lines become records."""

import sys
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import IO

import click

from odradek.cli.talking import bootstrap, chosen, talk
from odradek.client.cluster import Cluster
from odradek.client.producer import Producer, ProducerSettings
from odradek.model.ids import TopicPartition
from odradek.model.units import MIB
from odradek.records.compression import Codec
from odradek.records.record import Headers

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS = {"0": 0, "1": 1, "all": -1, "-1": -1}


@click.command()
@click.argument("topic")
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True))
@click.option("-p", "--partition", type=int, help="By default the key decides, or chance.")
@click.option("-k", "--key", help="The key of every record.")
@click.option("-K", "--key-separator", "separator", help="A line is key, this, and value.")
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header.")
@click.option("-z", "--compression", type=click.Choice(CODECS), default="none", show_default=True)
@click.option("-a", "--acks", type=click.Choice(list(ACKS)), default="all", show_default=True)
@click.option("-Z", "--null", "nulls", is_flag=True, help="An empty value is a null.")
@bootstrap
def command(  # noqa: PLR0913 - each is an option
    *,
    bootstrap: str,
    topic: str,
    file: Path | None,
    partition: int | None,
    key: str | None,
    separator: str | None,
    headers: tuple[str, ...],
    compression: str,
    acks: str,
    nulls: bool,
) -> None:
    """Produce each line of FILE, or of standard input, as a record.

    It ends when all of them are acknowledged.
    """
    settings = ProducerSettings(acks=ACKS[acks], codec=Codec(CODECS.index(compression)))
    pairs = (header.partition("=") for header in headers)
    added: Headers = tuple((name.encode(), value.encode()) for name, _, value in pairs)

    async def ask(cluster: Cluster, lines: IO[bytes]) -> int:
        producer, count = Producer(cluster, settings), 0
        fixed = None if partition is None else await _fixed(cluster, topic, partition)
        for line in lines:
            own_key, value = _split(line, separator)
            of_record = own_key if key is None else key.encode()
            where = fixed or await producer.partition_for(topic, of_record)
            producer.add(where, None if nulls and not value else value, of_record, added)
            count += 1
            if producer.waiting_bytes > MIB:
                await producer.flush()
        await producer.flush()
        return count

    with _opened(file) as lines:
        count = talk(bootstrap, lambda cluster: ask(cluster, lines))
    click.echo(f"{count} {'record is' if count == 1 else 'records are'} in {topic}", err=True)


def _opened(file: Path | None) -> AbstractContextManager[IO[bytes]]:
    return nullcontext(sys.stdin.buffer) if file is None else file.open("rb")


async def _fixed(cluster: Cluster, topic: str, number: int) -> TopicPartition:
    """Asked for by its number: one that is not there is not waited for."""
    found = await cluster.patiently(lambda: cluster.topic(topic, make=True))
    return chosen(
        [TopicPartition(topic, row.partition_index) for row in found.partitions], [number]
    )[0]


def _split(line: bytes, separator: str | None) -> tuple[bytes | None, bytes]:
    text = line.removesuffix(b"\n").removesuffix(b"\r")
    if separator is None:
        return None, text
    key, found, value = text.partition(separator.encode())
    return (key, value) if found else (None, text)

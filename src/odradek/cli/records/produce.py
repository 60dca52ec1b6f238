"""`odradek produce`: lines become records."""

import asyncio
import signal
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import click

from odradek.cli.reaching.client_settings import client_settings
from odradek.cli.reaching.naming import TOPIC
from odradek.cli.reaching.talking import chosen, talk
from odradek.cli.records.leaderless import NEXT, refuse_if_lost
from odradek.cli.records.telling import Telling, flushed
from odradek.cli.showing.cells import Size
from odradek.cli.showing.confirming import can_ask
from odradek.cli.showing.printing import print_json
from odradek.cli.showing.progress import progress
from odradek.cli.showing.record_json import RecordFields, record_of_json
from odradek.cli.words.escapes import unescaped
from odradek.cli.words.failing import INTERRUPTED, MISUSED, Failed, failed_by, nearest
from odradek.cli.words.grammar import Verb
from odradek.cli.words.lines import Lines, opened
from odradek.cli.words.options import options
from odradek.client.cluster import Cluster
from odradek.client.records.producer import Producer, ProducerSettings
from odradek.model.counting import counted
from odradek.model.errors import BrokerError, ErrorCode
from odradek.model.ids import TopicPartition
from odradek.model.names import topic_name_fault
from odradek.model.units import MIB
from odradek.records.compression import Codec
from odradek.records.record import Headers
from odradek.runtime.doors.chance import SystemRandom

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
ACKS: Final = {"0": 0, "1": 1, "all": -1, "-1": -1}
TURNS: Final = 1 << 16
"""Each call begins anywhere: records that come one a call would all be in the first partition."""


class Source(NamedTuple):
    """How lines become records."""

    topic: str
    file: Path | None
    partition: int | None
    key: bytes | None
    separator: bytes | None
    headers: Headers
    nulls: bool
    as_json: bool


@click.command(cls=Verb)
@click.argument("topic", type=TOPIC)
@click.argument("file", required=False, type=click.Path(path_type=Path, exists=True))
@click.option("-p", "--partition", type=int, help="Default: the key decides, or batches in turn.")
@click.option("-k", "--key", help="The key of every record.")
@click.option(
    "-K", "--key-separator", "separator", help="A line is key, this, and value; \\t works."
)
@click.option("-H", "--header", "headers", multiple=True, metavar="NAME=VALUE", help="A header.")
@click.option("-z", "--compression", type=click.Choice(CODECS), help="[default: none]")
@click.option("-a", "--acks", type=click.Choice(list(ACKS)), help="[default: all]")
@click.option("-Z", "--null", "nulls", is_flag=True, help="An empty value is a null.")
@click.option(
    "-i",
    "--input",
    "form",
    type=click.Choice(["lines", "json"]),
    default="lines",
    show_default=True,
    help="json: each line is an object as `consume --json` prints it.",
)
def command(  # noqa: PLR0913 - each is an option
    *,
    topic: str,
    file: Path | None,
    partition: int | None,
    key: str | None,
    separator: str | None,
    headers: tuple[str, ...],
    compression: str | None,
    acks: str | None,
    nulls: bool,
    form: str,
) -> None:
    """Produce each line of FILE, or of standard input, as a record.

    A line is sent as soon as it is read. The command ends when all records are acknowledged; Ctrl-C
    sends what was read before.
    """
    as_json = form == "json"
    if as_json and (key is not None or separator is not None or nulls):
        raise click.UsageError("--input json has keys and nulls of its own: no -k, -K and -Z")
    source = Source(
        topic,
        file,
        partition,
        None if key is None else key.encode(),
        None if separator is None else unescaped(separator, "--key-separator"),
        tuple(_header(it) for it in headers),
        nulls,
        as_json,
    )
    settings = settings_of_producer(compression, acks)
    sent = talk(lambda cluster: Sender(cluster, source, settings).run(), endless=True)
    sent.report(topic)
    if sent.interrupted:
        sys.exit(INTERRUPTED)


def _header(text: str) -> tuple[bytes, bytes]:
    name, equals, value = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text[:80]!r} is not NAME=VALUE", param_hint="--header")
    return name.encode(), value.encode()


def settings_of_producer(compression: str | None, acks: str | None) -> ProducerSettings:
    """What the options say, or the settings of the client."""
    of_client = client_settings()
    codec = compression or of_client.get("compression.type", "none")
    wanted = acks or of_client.get("acks", "all")
    if codec not in CODECS or wanted not in ACKS:
        text = f"compression.type={codec}, acks={wanted}: known are {', '.join(CODECS)}; 0, 1, all"
        raise Failed(text, code=MISUSED)
    idempotent = of_client.get("enable.idempotence", "true").lower() != "false"
    return ProducerSettings(
        acks=ACKS[wanted],
        codec=Codec(CODECS.index(codec)),
        idempotent=idempotent,
        first_turn=SystemRandom().below(TURNS),
    )


class Sent:
    """What has been acknowledged."""

    def __init__(self) -> None:
        self.records = 0
        self.interrupted = False
        self.not_sent: dict[TopicPartition, int] = {}
        self.batches: dict[TopicPartition, list[int]] = defaultdict(list)

    def report(self, topic: str) -> None:
        """On stderr for people: standard output may be part of a pipe."""
        if options().as_json:
            partitions = [
                {"partition": it.partition, "base_offsets": offsets}
                for it, offsets in sorted(self.batches.items())
            ]
            print_json({"topic": topic, "records": self.records, "batches": partitions})
        else:
            click.echo(f"{counted(self.records, 'record')} produced to {topic}", err=True)
        if self.not_sent:
            where = ", ".join(f"{count} of {it}" for it, count in sorted(self.not_sent.items()))
            raise Failed(f"not produced, because there is no leader: {where}", NEXT)


class Sender:
    """One run of the command."""

    def __init__(self, cluster: Cluster, source: Source, settings: ProducerSettings) -> None:
        self._cluster = cluster
        self._source = source
        self._producer = Producer(cluster, settings)
        self._sent = Sent()
        self._telling = Telling(cluster)
        self._taken = 0  # records of lines whose batches are over
        self._waiting = 0  # records that are not acknowledged yet
        self._is_known = False

    async def run(self) -> Sent:
        """Until the lines end, or Ctrl-C; a second Ctrl-C gives up what is under way."""
        source = self._source
        fixed = None if source.partition is None else await self._fixed(source.partition)
        lines = Lines(opened(source.file))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt, lines)
        if source.file is None and sys.stdin.isatty():
            click.echo("Each line is sent as a record. Ctrl-D ends.", err=True)
        size = 0 if source.file is None else source.file.stat().st_size
        try:
            with progress("producing", Size(size)) as bar:
                done = 0
                async for chunk in lines.chunks():
                    await self._send(chunk, fixed)
                    bar.update(lines.bytes_read - done)
                    done = lines.bytes_read
        except BrokerError as error:
            text = f"{counted(self._sent.records, 'record')} produced, then: {error}"
            why = failed_by(error)
            raise Failed(text, why.next_step, why.code) from error
        finally:
            loop.remove_signal_handler(signal.SIGINT)
        return self._sent

    def _interrupt(self, lines: Lines) -> None:
        self._sent.interrupted = True
        if can_ask():
            click.echo(err=True)  # behind the ^C of the terminal
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)
        lines.stop()

    async def _fixed(self, number: int) -> TopicPartition:
        """Asked for by its number: one that is not there is not waited for."""
        topic = self._source.topic
        await self._make_known()
        found = await self._cluster.patiently(lambda: self._cluster.topic(topic, make=True))
        known = [TopicPartition(topic, row.partition_index) for row in found.partitions]
        return chosen(known, [number])[0]

    async def _make_known(self) -> None:
        """A topic that is not there is made by the brokers; a typing error would not be seen."""
        if self._is_known:
            return
        self._is_known, name, cluster = True, self._source.topic, self._cluster
        if fault := topic_name_fault(name):
            raise Failed(fault, code=MISUSED)
        (there,) = (await cluster.refresh([name])).topics
        if there.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            await refuse_if_lost(cluster, there)
            return
        others = [it.name for it in (await cluster.refresh(None)).topics if it.name]
        made = await cluster.patiently(lambda: cluster.topic(name, make=True))
        size = counted(len(made.partitions), "partition")
        near = nearest(name, others)
        click.echo(f"topic {name} was not there and has been made: {size}{near}", err=True)

    async def _send(self, chunk: Iterable[bytes], fixed: TopicPartition | None) -> None:
        for line in chunk:
            await self._make_known()
            record = self._record(line)
            where = fixed or await self._producer.partition_for(self._source.topic, record.key)
            if record.partition is not None and fixed is None:
                where = await self._fixed(record.partition)
            self._producer.add(where, record.value, record.key, record.headers)
            self._waiting += 1
            if self._producer.waiting_bytes > MIB:
                await self._flush()
        await self._flush()

    async def _flush(self) -> None:
        producer, sent = self._producer, self._sent
        for partition, offset in await flushed(producer, self._telling):
            sent.batches[partition].append(offset)
        self._taken += self._waiting
        self._waiting = 0
        sent.not_sent = dict(producer.given_up)
        sent.records = self._taken - producer.given_up.total()

    def _record(self, line: bytes) -> RecordFields:
        source = self._source
        if source.as_json:
            found = record_of_json(line, self._taken + self._waiting + 1)
            return found._replace(headers=(*found.headers, *source.headers))
        key, value = source.key, line
        if source.separator is not None:
            own, separator, rest = line.partition(source.separator)
            if separator:
                key, value = (own if key is None else key), rest
        wanted = None if source.nulls and not value else value
        return RecordFields(None, key, wanted, source.headers)

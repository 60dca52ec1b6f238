"""`kafka-consumer-perf-test`: how much is read in a second, by this client."""

import click

from odradek.cli.kafka.perf import moment
from odradek.cli.kafka.script import Script
from odradek.cli.reaching.talking import talk
from odradek.cli.words.failing import Failed
from odradek.cli.words.numbers import Whole
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.client.records.list_offsets import offsets_at
from odradek.client.records.offsets import EARLIEST, LATEST
from odradek.client.records.reader import Reader
from odradek.model.units import MIB

HEADER = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)


@click.command("kafka-consumer-perf-test", cls=Script)
@click.option("--topic", required=True)
@click.option("--messages", "--num-records", "count", required=True, type=Whole(1))
@click.option("--timeout", type=int, default=10_000, show_default=True, help="Between records, ms.")
@click.option("--group", help="Taken and ignored: all partitions are read.")
@click.option("--from-latest", is_flag=True)
@click.option("--hide-header", is_flag=True)
@click.option("--fetch-size", type=int, help="Taken and ignored.")
@click.option("--threads", type=int, help="Taken and ignored.")
def command(  # noqa: PLR0913 - each is an option
    *,
    topic: str,
    count: int,
    timeout: int,
    group: str | None,
    from_latest: bool,
    hide_header: bool,
    fetch_size: int | None,
    threads: int | None,
) -> None:
    """Kafka's script that measures consuming."""
    del group, fetch_size, threads
    if not hide_header:
        click.echo(HEADER)

    async def run(cluster: Cluster) -> str:
        clock = cluster.world.clock
        partitions = await admin.partitions_of(cluster, topic)
        if not partitions:
            raise Failed(f"topic {topic} has no partitions")
        where = LATEST if from_latest else EARLIEST
        reader = Reader(cluster, await offsets_at(cluster, partitions, where))
        began, begun = clock.wall(), clock.monotonic()
        last = begun
        records = size = 0
        while records < count:
            found = await reader.poll()
            if found:
                last = clock.monotonic()
            elif clock.monotonic() - last >= timeout:
                click.echo(
                    "WARNING: Exiting before consuming the expected number of messages: timeout "
                    f"({timeout} ms) exceeded. You can use the --timeout option to increase the "
                    "timeout."
                )
                break
            records += len(found)
            size += sum(len(it.record.value or b"") + len(it.record.key or b"") for it in found)
        millis = max(1, clock.monotonic() - begun)
        mib = size / MIB
        rates = (mib * 1_000 / millis, records * 1_000 / millis)
        return (
            f"{moment(began)}, {moment(clock.wall())}, {mib:.4f}, {rates[0]:.4f}, {records}, "
            f"{rates[1]:.4f}, 0, {millis}, {rates[0]:.4f}, {rates[1]:.4f}"
        )

    click.echo(talk(run, endless=True))

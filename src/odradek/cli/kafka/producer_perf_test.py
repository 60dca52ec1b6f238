"""`kafka-producer-perf-test`: how many records a second, and after how long they are acknowledged.

It measures this client, a part of which is Python: for a broker's own limits use Kafka's script or
`benchmarks/broker.py`.
"""

import asyncio
from pathlib import Path

import click

from odradek.cli.kafka.perf import percentile
from odradek.cli.kafka.script import Misused, Script
from odradek.cli.reaching.talking import talk
from odradek.cli.records.produce import settings_of_producer
from odradek.cli.words.numbers import Whole
from odradek.cli.words.options import options, pairs
from odradek.client.cluster import Cluster
from odradek.client.records.producer import Producer
from odradek.model.units import KIB, MIB

FLUSH_BYTES = 256 * KIB
TELL_MILLIS = 5_000


@click.command("kafka-producer-perf-test", cls=Script)
@click.option("--topic", required=True)
@click.option("--num-records", required=True, type=Whole(1))
@click.option("--throughput", type=float, default=-1, help="Records a second; -1: as many as go.")
@click.option("--record-size", type=Whole(1))
@click.option("--payload-file", type=click.Path(path_type=Path, exists=True), help="A line each.")
@click.option("--producer-props", nargs=1, multiple=True, metavar="NAME=VALUE")
@click.option("--print-metrics", is_flag=True, help="Taken and ignored.")
@click.argument("more", nargs=-1, metavar="[NAME=VALUE]...")
def command(  # noqa: PLR0913 - each is an option
    *,
    topic: str,
    num_records: int,
    throughput: float,
    record_size: int | None,
    payload_file: Path | None,
    producer_props: tuple[str, ...],
    print_metrics: bool,
    more: tuple[str, ...],
) -> None:
    """Kafka's script that measures producing."""
    del print_metrics
    if (record_size is None) == (payload_file is None):
        raise Misused("exactly one of --record-size, --payload-file is required")
    options().settings |= pairs((*producer_props, *more))
    payloads = [b"x" * (record_size or 0)]
    if payload_file is not None:
        payloads = payload_file.read_bytes().splitlines() or [b""]
    how = settings_of_producer(None, None)

    async def run(cluster: Cluster) -> None:
        producer = Producer(cluster, how)
        clock = cluster.world.clock
        begun = told_at = clock.monotonic()
        latencies: list[int] = []
        added: list[int] = []
        sent_bytes = told = told_bytes = 0

        async def flush() -> None:
            await producer.flush()
            now = clock.monotonic()
            latencies.extend(now - at for at in added)
            added.clear()

        for number in range(num_records):
            payload = payloads[number % len(payloads)]
            where = await producer.partition_for(topic, None)
            producer.add(where, payload)
            added.append(clock.monotonic())
            sent_bytes += len(payload)
            due = begun + number * 1_000 / throughput if throughput > 0 else 0
            if producer.waiting_bytes >= FLUSH_BYTES or due > added[-1]:
                await flush()
                await asyncio.sleep(max(0, due - clock.monotonic()) / 1_000)
            now = clock.monotonic()
            if now - told_at >= TELL_MILLIS:
                some = latencies[told:]
                click.echo(_line(some, sent_bytes - told_bytes, now - told_at) + ".")
                told, told_bytes, told_at = len(latencies), sent_bytes, now
        await flush()
        click.echo(_line(latencies, sent_bytes, clock.monotonic() - begun) + _tail(latencies))

    talk(run, endless=True)


def _line(latencies: list[int], sent_bytes: int, millis: int) -> str:
    seconds = max(millis, 1) / 1_000
    count = len(latencies)
    return (
        f"{count} records sent, {count / seconds:.6f} records/sec "
        f"({sent_bytes / seconds / MIB:.2f} MB/sec), "
        f"{sum(latencies) / max(count, 1):.2f} ms avg latency, "
        f"{max(latencies, default=0):.2f} ms max latency"
    )


def _tail(latencies: list[int]) -> str:
    found = sorted(latencies)
    shares = ((0.5, "50th"), (0.95, "95th"), (0.99, "99th"), (0.999, "99.9th"))
    return "".join(f", {percentile(found, share)} ms {name}" for share, name in shares) + "."

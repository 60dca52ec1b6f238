"""`odradek broker clients`: which client asks how much."""

import sys
from collections.abc import Mapping
from typing import Any, Final

import click

from odradek.cli.reaching.talking import talk
from odradek.cli.reaching.who_answers import of_each
from odradek.cli.showing.cells import Size
from odradek.cli.showing.printing import show_table
from odradek.cli.words.failing import FAILED
from odradek.cli.words.grammar import Verb
from odradek.cli.words.numbers import Whole
from odradek.client.admin.operations import Wanted, operate
from odradek.client.cluster import Cluster
from odradek.model.admin_operations import CLIENTS_WATCH
from odradek.model.ids import BrokerId
from odradek.model.units import SECOND, Millis

COLUMNS: Final = (
    "broker",
    "client_id",
    "address",
    "connections",
    "requests",
    "throttle_ms",
    "in",
    "out",
)


@click.command(cls=Verb)
@click.argument("brokers", type=int, nargs=-1, metavar="[BROKER]...")
@click.option(
    "--seconds",
    type=Whole(1, 60),
    default=3,
    show_default=True,
    help="How long to watch.",
)
def clients(*, brokers: tuple[int, ...], seconds: int) -> None:
    """List who asks how much: requests and bytes in a second, the busiest first.

    By client id and address, over the next seconds; other brokers that replicate are in it, too.
    THROTTLE_MS is the longest pause by a quota, told meanwhile or not over yet.
    """

    async def ask(cluster: Cluster) -> tuple[list[tuple[object, ...]], bool]:
        return await of_each(cluster, brokers, lambda it: _rows(cluster, it, seconds))

    found, is_left_out = talk(ask, endless=True)
    rows = sorted(found, key=_bytes, reverse=True)
    show_table(COLUMNS, rows, "no client has asked for anything")
    if rows:
        click.echo(f"requests and bytes in a second, over {seconds} s", err=True)
    if is_left_out:
        sys.exit(FAILED)


async def _rows(cluster: Cluster, broker: BrokerId, seconds: int) -> list[tuple[object, ...]]:
    wanted = Wanted(
        CLIENTS_WATCH,
        {"seconds": seconds},
        resource=str(broker),
        broker=broker,
        timeout=Millis((seconds + 30) * SECOND),
    )
    found = (await operate(cluster, wanted))["clients"]
    return [_row(broker, it, seconds) for it in found]


def _row(broker: BrokerId, it: Mapping[str, Any], seconds: int) -> tuple[object, ...]:
    size_in, size_out = (Size(it[name] // seconds) for name in ("bytes_in", "bytes_out"))
    who = (it["client_id"] or None, it["address"], it["connections"])
    throttle = it.get("throttle_ms") or None  # not there in older brokers
    return (broker, *who, round(it["requests"] / seconds, 1), throttle, size_in, size_out)


def _bytes(row: tuple[Any, ...]) -> int:
    return int(row[-1]) + int(row[-2])

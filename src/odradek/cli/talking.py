"""What the nouns that talk to a cluster have in common: their options, and how they print."""

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

from odradek.client.cluster import Cluster, Surroundings, addresses
from odradek.client.connection import Refused
from odradek.model.errors import ErrorCode, InvalidSetting
from odradek.model.ids import TopicPartition
from odradek.runtime.clock import SystemClock
from odradek.runtime.network import SystemNetwork

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

DEFAULT_ADDRESS: Final = "127.0.0.1:9092"


def bootstrap(command: F) -> F:
    """Where the cluster is."""
    return click.option(
        "-b",
        "--bootstrap-server",
        "bootstrap",
        default=DEFAULT_ADDRESS,
        show_default=True,
        envvar="ODRADEK_BOOTSTRAP",
        help="Brokers to begin with: host:port, several separated by commas.",
    )(command)


def as_json(command: F) -> F:
    """For programs."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON.")(command)


def talk(bootstrap: str, conversation: Callable[[Cluster], Coroutine[Any, Any, T]]) -> T:
    """Runs a conversation with a cluster from its beginning to its end."""

    async def run() -> T:
        world = Surroundings(SystemNetwork(), SystemClock())
        cluster = Cluster(world, addresses(bootstrap), "odradek-cli")
        try:
            await cluster.any()  # nobody waits for a broker that was never there
            return await conversation(cluster)
        finally:
            cluster.close()

    return asyncio.run(run())


def chosen(partitions: Sequence[TopicPartition], numbers: Iterable[int]) -> list[TopicPartition]:
    """Those of these numbers; all, if none is named."""
    by_number = {it.partition: it for it in partitions}
    for number in numbers:
        if number not in by_number:
            raise Refused(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"partition {number}, where there are {len(partitions)}, beginning with 0",
            )
    return [by_number[number] for number in dict.fromkeys(numbers)] or list(partitions)


def settings_of(pairs: Iterable[str]) -> dict[str, str]:
    """`name=value`, several times."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise InvalidSetting(f"{pair[:80]!r} is not NAME=VALUE")
        found[name.strip()] = value.strip()
    return found


def print_json(value: object) -> None:
    """One document."""
    click.echo(json.dumps(value, indent=2))


def print_rows(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, as_json: bool = False
) -> None:
    """A table for people, JSON for programs, and columns between tabs for everything else."""
    if as_json:
        print_json([dict(zip(columns, map(_plain, row), strict=True)) for row in rows])
        return
    if not sys.stdout.isatty():
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(map(_text, row)))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=None, header_style="bold", pad_edge=False)
    for row in rows:
        table.add_row(*map(_text, row))
    Console().print(table)


def _text(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, list | tuple):
        return ",".join(map(str, value))
    if isinstance(value, Mapping):
        return ",".join(f"{name}={it}" for name, it in value.items())
    return str(value)


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value

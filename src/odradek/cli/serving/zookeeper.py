"""`odradek zookeeper`: a ZooKeeper server without a JVM, and what a whole tree needs at times."""

from pathlib import Path

import click

from odradek.cli.serving.restored_state import restore_state
from odradek.cli.serving.restored_tree import raise_epochs
from odradek.cli.serving.served_names import names_of_clients
from odradek.cli.serving.tree_owners import open_up, secure
from odradek.cli.words.grammar import Noun
from odradek.cli.words.numbers import Whole
from odradek.ensemble.served_names import ServedNames
from odradek.model.units import Bytes, Millis
from odradek.ports import Address
from odradek.zookeeper.server.four_letters import WORDS
from odradek.zookeeper.server.settings import PACKET_BYTES_HIGH, ServerSettings

_DEFAULTS = ServerSettings()
_ALL = frozenset(word.decode() for word in WORDS)


class Servers(Noun):
    """A server has none of the options for verbs of a cluster."""

    command_class: type[click.Command] | None = click.Command


@click.group(cls=Servers)
def command() -> None:
    """The ZooKeeper server that comes with Odradek."""


command.add_command(raise_epochs)
command.add_command(restore_state)
command.add_command(secure)
command.add_command(open_up)


@command.command()
@click.option(
    "--data",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="The directory of its journal; made where it is missing.",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where it listens.")
@click.option(
    "--port",
    type=Whole(0, 65_535),
    default=2181,
    show_default=True,
    help="0 has a free one chosen.",
)
@click.option(
    "--tick-time",
    type=Whole(10, 60_000),
    default=2_000,
    show_default=True,
    help="Milliseconds; a session lasts 2 to 20 of them.",
)
@click.option(
    "--words",
    default="srvr",
    show_default=True,
    help="Four-letter words that are answered, with commas between them; * is all.",
)
@click.option(
    "--connections-per-host",
    type=Whole(0),
    default=_DEFAULTS.connections_per_host_max,
    show_default=True,
    help="How many connections one address may have; 0 is no bound.",
)
@click.option(
    "--jute-maxbuffer",
    type=Whole(1024, PACKET_BYTES_HIGH),
    default=_DEFAULTS.packet_bytes_max,
    show_default=True,
    help="Bytes; the largest packet that is taken.",
)
@names_of_clients
def serve(  # noqa: PLR0913 - one for each option
    *,
    names: ServedNames,
    data: Path,
    host: str,
    port: int,
    tick_time: int,
    words: str,
    connections_per_host: int,
    jute_maxbuffer: int,
) -> None:
    """Serve until the process is asked to end.

    Every answer is durable before it is given. The journal is one SQLite file in the directory,
    held by one process at a time. Beyond this machine it needs names: --jaas, or --key-store and
    --client-certificates.
    """
    from odradek.runtime.logs import log_to_stderr
    from odradek.runtime.output import open_standard_streams
    from odradek.runtime.zookeeper import run_zookeeper

    chosen = frozenset(word.strip() for word in words.split(",") if word.strip())
    unknown = sorted(chosen - _ALL - {"*"})
    if unknown:
        known = ", ".join(sorted(_ALL))
        raise click.BadParameter(
            f"{', '.join(unknown)} is none; known are {known}", param_hint="'--words'"
        )
    open_standard_streams()
    log_to_stderr()
    settings = ServerSettings(
        tick_time=Millis(tick_time),
        four_letter_words=chosen,
        connections_per_host_max=connections_per_host,
        packet_bytes_max=Bytes(jute_maxbuffer),
        users=names.users,
        requires_names=names.are_required,
    )
    run_zookeeper(data, ((host, port), names.context), settings, _announce)


def _announce(address: Address) -> None:
    from odradek.runtime.output import say

    say(f"ZooKeeper listens at {address[0]}:{address[1]}")

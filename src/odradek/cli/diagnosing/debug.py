"""`odradek debug`: what somebody who is to help wants to have."""

import asyncio
from pathlib import Path
from typing import Final

import click

from odradek import __version__
from odradek.cli.diagnosing import debug_bundle, debug_tree
from odradek.cli.diagnosing.doctor import examined
from odradek.cli.reaching.client_settings import BOOTSTRAP, client_settings
from odradek.cli.reaching.talking import talk
from odradek.cli.reaching.tree import access_by, tls_option
from odradek.cli.showing.cells import Size, cell
from odradek.cli.showing.printing import show
from odradek.cli.words.failing import Failed
from odradek.cli.words.grammar import Noun
from odradek.cli.words.options import options
from odradek.model.counting import counted
from odradek.security.zookeeper_access import ZooKeeperAccess

EVENTS_BYTES_MAX: Final = 8 << 20


@click.group(cls=Noun)
def command() -> None:
    """For who is to help: one archive of what is known of a cluster."""


@command.command()
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="The archive to write, a .tar.gz; it must not exist.",
)
@click.option(
    "--events",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="What a broker has printed: its last 8 MiB go in. Can be repeated.",
)
@click.option(
    "--zookeeper",
    metavar="HOST:PORT,.../PATH",
    help="As zookeeper.connect has it: the tree goes in, without what is secret.",
)
@tls_option
def bundle(
    *, out: Path, events: tuple[Path, ...], zookeeper: str | None, tls_file: Path | None
) -> None:
    """Gather what is known of a cluster in one archive.

    Findings of `odradek doctor`, brokers, topics, settings, log dirs, health, metrics, and on
    request events and ZooKeeper's tree. No record and no secret is in it; CONTENTS.txt in it lists
    what is, and what could not be had. It can be read by its owner only.
    """
    if out.exists():
        raise Failed(f"{out} is there already", "name another file with --out")
    pieces = debug_bundle.Pieces()
    pieces.add("version.txt", "the version of this command", __version__.encode())
    pieces.add_json("doctor.json", "what odradek doctor finds from here", examined())
    settings = client_settings()
    given = {BOOTSTRAP: settings[BOOTSTRAP], "names": sorted(settings)}
    pieces.add_json("client.json", "the address, and the names of the client's settings", given)
    try:
        talk(lambda cluster: debug_bundle.gather(cluster, pieces, settings))
    except Failed as error:
        pieces.miss("brokers", str(error))
    if zookeeper is not None:
        _take_tree(pieces, zookeeper, access_by(tls_file))
    for number, path in enumerate(events, 1):
        name = f"events/{number}-{path.name}"
        pieces.add(name, f"the end of {path}", debug_bundle.tail(path, EVENTS_BYTES_MAX))
    size = debug_bundle.write(out, pieces)
    told = {"file": str(out), "size": size, "missing": pieces.missing}
    missed = [f"missing: {what}: {why}" for what, why in pieces.missing.items()]
    room = cell(Size(size), for_people=True)
    show(told, f"{out}: {counted(len(pieces.files), 'file')}, {room}", *missed)


def _take_tree(pieces: debug_bundle.Pieces, connect: str, access: ZooKeeperAccess) -> None:
    try:

        async def within() -> list[dict[str, object]]:
            async with asyncio.timeout(options().seconds):
                return await debug_tree.nodes_at(connect, access)

        about = "ZooKeeper's tree: paths and versions; contents only where none can be secret"
        pieces.add_json("tree.json", about, asyncio.run(within()))
    except (Failed, TimeoutError) as error:
        pieces.miss("tree.json", str(error) or "ZooKeeper does not answer in time")

"""`zookeeper-security-migration`: whom the znodes of a cluster belong to."""

from pathlib import Path

import click

from odradek.cli.kafka.script import Script
from odradek.cli.reaching.tree import access_by, tls_option
from odradek.cli.serving.tree_owners import give
from odradek.ensemble.protection import protected, unprotected


@click.command("zookeeper-security-migration", cls=Script)
@click.option("--zookeeper.acl", "acl", required=True, type=click.Choice(["secure", "unsecure"]))
@click.option("--zookeeper.connect", "connect", default="localhost:2181", show_default=True)
@click.option("--zookeeper.session.timeout", "_session", type=int, help="Taken and ignored.")
@click.option("--zookeeper.connection.timeout", "_connection", type=int, help="Likewise.")
@click.option("--enable.path.check", "_check", is_flag=True, help="Likewise: no path is made.")
@tls_option
def command(*, acl: str, connect: str, tls_file: Path | None, **_ignored: object) -> None:
    """Kafka's script for the owners of znodes."""
    give(connect, access_by(tls_file), protected if acl == "secure" else unprotected)

"""`odradek serve FILE`: a broker, with the settings of a properties file."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odradek.cli import settings
from odradek.config import sources

if TYPE_CHECKING:
    from odradek.broker.broker import Broker


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@settings.overrides
def command(file: Path, overrides: tuple[str, ...]) -> None:
    """Serve with the settings of FILE until the process is asked to end.

    Without zookeeper.connect a ZooKeeper server runs in the same process. SIGTERM ends it in good
    order; a second one at once.
    """
    from odradek.runtime.logs import log_to_stderr
    from odradek.runtime.serve import run_broker

    config, warnings = sources.load(*settings.gather(file, overrides))
    log_to_stderr()
    for warning in warnings:
        click.echo(f"odradek: warning: {warning}", err=True)
    run_broker(config, _announce)


def _announce(broker: "Broker") -> None:
    for name, (host, port) in broker.front.addresses.items():
        click.echo(f"{name} listens at {host}:{port}")
    click.echo(f"[KafkaServer id={broker.cluster.me}] started")
    sys.stdout.flush()

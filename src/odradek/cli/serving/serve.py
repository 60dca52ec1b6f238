"""`odradek serve FILE`: a broker, with the settings of a properties file."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from odradek.cli.reaching import settings
from odradek.cli.words.grammar import SETTINGS
from odradek.config import sources
from odradek.config.findings import Severity

if TYPE_CHECKING:
    from odradek.broker.broker import Broker


@click.command(context_settings=SETTINGS)
@click.argument("file", type=click.Path(path_type=Path), required=False)
@settings.overrides
@click.option(
    "--pid-file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the number of this process there, and take the file away at the end.",
)
@click.option(
    "--log-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How events are written to stderr: for people, or one JSON object a line.",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least important events that are written.",
)
def command(
    *,
    file: Path | None,
    overrides: tuple[str, ...],
    pid_file: Path | None,
    log_format: str,
    log_level: str,
) -> None:
    """Start a broker with the settings of a properties file.

    Without FILE the settings come from KAFKA_ variables and --override. Without zookeeper.connect a
    ZooKeeper server runs in the same process. SIGTERM ends it in good order; a second one at once.
    """
    serve(
        file, overrides, _announce, pid_file=pid_file, as_json=log_format == "json", level=log_level
    )


def serve(
    file: Path | None,
    overrides: tuple[str, ...],
    announce: Callable[["Broker"], None],
    *,
    pid_file: Path | None = None,
    as_json: bool = False,
    level: str = "info",
) -> None:
    """Runs a broker in this process until it is asked to end."""
    from odradek.runtime import pid_file as numbered
    from odradek.runtime.logs import log_to_stderr
    from odradek.runtime.output import STDERR, open_standard_streams, say
    from odradek.runtime.serve import run_broker

    open_standard_streams()
    given, doubts = settings.gather(file, overrides)
    if file is None and not given:
        raise click.UsageError("name a properties file, or set KAFKA_ variables or --override")
    config, findings = sources.load(given, doubts)
    log_to_stderr(as_json=as_json, level=level)
    for finding in findings:
        if finding.severity is not Severity.NOTE:
            say(f"odradek: {finding.severity.value}: {finding}", STDERR)
    with numbered.pid_file(pid_file):
        run_broker(config, announce)


def _announce(broker: "Broker") -> None:
    from odradek.runtime.output import say

    for name, (host, port) in broker.socket_server.addresses.items():
        say(f"{name} listens at {f'[{host}]' if ':' in host else host}:{port}")
    say(f"[KafkaServer id={broker.cluster.me}] started")

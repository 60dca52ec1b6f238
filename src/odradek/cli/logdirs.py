"""`odradek logdirs`: what lies in the log dirs of the brokers."""

import click

from odradek.cli.talking import as_json, bootstrap, print_rows, talk
from odradek.client import admin
from odradek.model.errors import ErrorCode


@click.command()
@click.option("--partitions", "each", is_flag=True, help="A line for each partition.")
@as_json
@bootstrap
def command(*, bootstrap: str, each: bool, as_json: bool) -> None:
    """Show the log dirs: what lies in them, what room is left, which have failed."""
    found = talk(bootstrap, admin.log_dirs)
    if each:
        rows: list[tuple[object, ...]] = [
            (broker, result.log_dir, topic.name, row.partition_index, row.partition_size)
            for broker, results in found.items()
            for result in results
            for topic in result.topics
            for row in topic.partitions
        ]
        print_rows(("broker", "log dir", "topic", "partition", "bytes"), rows, as_json=as_json)
        return
    rows = []
    for broker, results in found.items():
        for result in results:
            sizes = [row.partition_size for topic in result.topics for row in topic.partitions]
            failed = result.error_code != ErrorCode.NONE
            state = ErrorCode(result.error_code).sentence if failed else "serves"
            rows.append(
                (broker, result.log_dir, len(sizes), sum(sizes), result.usable_bytes, state)
            )
    print_rows(("broker", "log dir", "partitions", "bytes", "free", "state"), rows, as_json=as_json)

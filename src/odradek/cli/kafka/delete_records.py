"""`kafka-delete-records`: the records before an offset of each partition."""

import json
from pathlib import Path

import click

from odradek.cli.kafka.script import Script, ask, told
from odradek.cli.words.failing import Failed
from odradek.client.admin import admin
from odradek.client.cluster import Cluster
from odradek.model.errors import BrokerError
from odradek.model.ids import TopicPartition


@click.command("kafka-delete-records", cls=Script)
@click.option(
    "--offset-json-file",
    "file",
    required=True,
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help='{"partitions": [{"topic": "orders", "partition": 0, "offset": 5}], "version": 1}',
)
def command(*, file: Path) -> None:
    """Kafka's script that deletes records."""
    wanted = before_of(file.read_text())
    click.echo("Executing records delete operation")

    async def delete(cluster: Cluster) -> list[str]:
        lines = []
        for partition, offset in wanted.items():
            try:
                (start,) = (await admin.delete_records(cluster, {partition: offset})).values()
                lines.append(f"partition: {partition}\tlow_watermark: {start}")
            except BrokerError as error:
                lines.append(f"partition: {partition}\terror: {told(error)}")
        return lines

    lines = ask(delete)
    click.echo("Records delete operation completed:")
    for line in lines:
        click.echo(line)


def before_of(text: str) -> dict[TopicPartition, int]:
    """What the file says; a partition twice is a mistake."""
    try:
        rows = json.loads(text)["partitions"]
        found = [(TopicPartition(it["topic"], it["partition"]), int(it["offset"])) for it in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise Failed(f"the offset json file is malformed: {error!r}") from None
    if len(dict(found)) != len(found):
        raise Failed("Offset json file contains duplicate topic partitions")
    return dict(found)

"""`kafka-log-dirs`: what lies in which log dir, as JSON."""

import json

import click

from odradek.cli.kafka.script import Script, ask
from odradek.cli.reaching.naming import brokers_named
from odradek.cli.replicas.logdirs import log_dirs_of
from odradek.client.cluster import Cluster
from odradek.model.errors import ErrorCode


@click.command("kafka-log-dirs", cls=Script)
@click.option("--describe", is_flag=True, required=True)
@click.option("--topic-list", default="", metavar="TOPIC,...")
@click.option("--broker-list", "numbers", default="", metavar="1,2", help="Only these brokers.")
def command(*, describe: bool, topic_list: str, numbers: str) -> None:
    """Kafka's script for log dirs."""
    assert describe
    topics = {name for name in topic_list.split(",") if name}

    async def look(cluster: Cluster) -> list[dict[str, object]]:
        wanted = [int(it) for it in numbers.split(",") if it]
        brokers = await brokers_named(cluster, wanted)
        return [{"broker": it, "logDirs": await _dirs(cluster, it, topics)} for it in brokers]

    click.echo("Querying brokers for log directories information")
    found = ask(look)
    click.echo(
        "Received log directory information from brokers "
        + ",".join(str(it["broker"]) for it in found)
    )
    document = {"brokers": found, "version": 1}
    click.echo(json.dumps(document, separators=(",", ":")))


async def _dirs(cluster: Cluster, broker: int, topics: set[str]) -> list[dict[str, object]]:
    from odradek.model.ids import BrokerId

    return [
        {
            "partitions": [
                {
                    "partition": f"{topic.name}-{row.partition_index}",
                    "size": row.partition_size,
                    "offsetLag": row.offset_lag,
                    "isFuture": row.is_future_key,
                }
                for topic in result.topics
                if not topics or topic.name in topics
                for row in topic.partitions
            ],
            "error": None if not result.error_code else ErrorCode(result.error_code).sentence,
            "logDir": result.log_dir,
        }
        for result in await log_dirs_of(cluster, BrokerId(broker))
    ]

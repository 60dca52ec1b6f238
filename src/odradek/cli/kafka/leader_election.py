"""`kafka-leader-election`: preferred or unclean leaders elected on demand."""

import json
from pathlib import Path

import click

from odradek.cli.kafka.script import Script, ask
from odradek.cli.words.failing import Failed
from odradek.client.cluster import Cluster
from odradek.client.errors import check
from odradek.model.errors import ErrorCode
from odradek.model.ids import TopicPartition, by_topic
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions

TIMEOUT_MS = 30_000


@click.command("kafka-leader-election", cls=Script)
@click.option(
    "--election-type",
    required=True,
    type=click.Choice(["preferred", "unclean"], case_sensitive=False),
)
@click.option("--topic")
@click.option("--partition", type=int)
@click.option("--all-topic-partitions", is_flag=True)
@click.option("--path-to-json-file", "file", type=click.Path(path_type=Path, exists=True))
def command(
    *,
    election_type: str,
    topic: str | None,
    partition: int | None,
    all_topic_partitions: bool,
    file: Path | None,
) -> None:
    """Kafka's script for elections of leaders."""
    if (topic is not None) + (file is not None) + all_topic_partitions != 1:
        raise click.UsageError(
            "One and only one of the following options is required: --topic, "
            "--all-topic-partitions, --path-to-json-file"
        )
    if (topic is None) != (partition is None):
        raise click.UsageError("--topic and --partition belong together")
    wanted: list[TopicPartition] | None = None
    if topic is not None and partition is not None:
        wanted = [TopicPartition(topic, partition)]
    elif file is not None:
        rows = json.loads(file.read_text())["partitions"]
        wanted = [TopicPartition(it["topic"], it["partition"]) for it in rows]
    kind = ["preferred", "unclean"].index(election_type.lower())
    outcomes = ask(lambda cluster: _elect(cluster, kind, wanted))
    text = "Successfully completed leader election ({}) for partitions {}"
    done = [it for it, (code, _) in outcomes.items() if code == ErrorCode.NONE]
    needless = [it for it, (code, _) in outcomes.items() if code == ErrorCode.ELECTION_NOT_NEEDED]
    if done:
        click.echo(text.format(election_type.upper(), ", ".join(map(str, done))))
    if needless and wanted is not None:
        click.echo(f"Valid replica already elected for partitions {', '.join(map(str, needless))}")
    failed = [it for it in outcomes if it not in done and it not in needless]
    for it in failed:
        code, message = outcomes[it]
        why = message or ErrorCode(code).sentence
        click.echo(
            f"Error completing leader election ({election_type.upper()}) for partition: {it}: {why}"
        )
    if failed:
        raise Failed(f"{len(failed)} replica(s) could not be elected")


async def _elect(
    cluster: Cluster, kind: int, wanted: list[TopicPartition] | None
) -> dict[TopicPartition, tuple[int, str | None]]:
    rows = [TopicPartitions(*it) for it in by_topic(wanted or ()).items()]
    request = ElectLeadersRequest(kind, None if wanted is None else rows, TIMEOUT_MS)
    answer = await (await cluster.controller()).ask(request)
    check(answer.error_code)
    return {
        TopicPartition(topic.topic, row.partition_id): (row.error_code, row.error_message)
        for topic in answer.replica_election_results
        for row in topic.partition_result
    }

"""What operators ask: settings, log dirs, producers, records that are to go."""

from odradek.config.describe import Source
from odradek.model.errors import ErrorCode
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_cluster import DescribeClusterRequest
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from odradek.wire.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    TopicRequest,
)
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from tests.unit.broker.stage import Client, Stage

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND = 0, 1, 2


def alter(client: Client, kind: int, name: str, *changes: tuple[str, int, str | None]) -> int:
    """Changes settings; the error code."""
    resource = AlterConfigsResource(kind, name, [AlterableConfig(*change) for change in changes])
    answer = client.ask(IncrementalAlterConfigsRequest([resource]))
    code: int = answer.responses[0].error_code
    return code


def describe(client: Client, kind: int, name: str, key: str) -> tuple[str | None, Source]:
    """One setting: its value, and who says so."""
    resource = DescribeConfigsResource(kind, name, [key])
    (result,) = client.ask(DescribeConfigsRequest([resource], include_synonyms=True)).results
    (row,) = result.configs
    return row.value, Source(row.config_source)


def test_a_topic_setting_holds_at_once_and_after_a_restart() -> None:
    """The next batch is judged by it."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        assert client.produce("orders", "x" * 200).error_code == ErrorCode.NONE
        assert alter(client, TOPIC, "orders", ("max.message.bytes", SET, "100")) == ErrorCode.NONE
        assert client.produce("orders", "x" * 200).error_code == ErrorCode.MESSAGE_TOO_LARGE
        stage.stop()
        stage.start()
        client = stage.client()
        assert describe(client, TOPIC, "orders", "max.message.bytes") == ("100", Source.TOPIC)
        assert client.produce("orders", "x" * 200).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_setting_of_all_brokers_is_the_default_of_topics() -> None:
    """Until somebody takes it away again."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        assert alter(client, BROKER, "", ("log.retention.bytes", SET, "77")) == ErrorCode.NONE
        found = describe(client, TOPIC, "orders", "retention.bytes")
        assert found == ("77", Source.DYNAMIC_DEFAULT_BROKER)
        assert alter(client, BROKER, "", ("log.retention.bytes", DELETE, None)) == ErrorCode.NONE
        assert describe(client, TOPIC, "orders", "retention.bytes") == ("-1", Source.DEFAULT)


def test_topics_are_refused_one_by_one() -> None:
    """Each has its own reason, and the good one among them is made."""
    with Stage() as stage:
        client = stage.client()
        wanted = [
            CreatableTopic("good", -1, -1),
            CreatableTopic("..", 1, 1),
            CreatableTopic("many", 1, 3),
            CreatableTopic("huge", 10_000_000, 1),
            CreatableTopic("twice", 1, 1),
            CreatableTopic("twice", 1, 1),
        ]
        answer = client.ask(CreateTopicsRequest(topics=wanted))
        assert {row.name: ErrorCode(row.error_code) for row in answer.topics} == {
            "good": ErrorCode.NONE,
            "..": ErrorCode.INVALID_TOPIC_EXCEPTION,
            "many": ErrorCode.INVALID_REPLICATION_FACTOR,
            "huge": ErrorCode.INVALID_PARTITIONS,
            "twice": ErrorCode.INVALID_REQUEST,
        }
        again = client.ask(CreateTopicsRequest(topics=[CreatableTopic("good", 1, 1)]))
        assert again.topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_topic_grows_and_never_shrinks() -> None:
    """The new partitions can be used when the answer is there."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        grow = CreatePartitionsRequest([CreatePartitionsTopic("orders", 3, None)], 5_000)
        assert client.ask(grow).results[0].error_code == ErrorCode.NONE
        assert client.produce("orders", "a", partition=2).base_offset == 0
        assert client.ask(grow).results[0].error_code == ErrorCode.INVALID_PARTITIONS


def offset_at(client: Client, timestamp: int, version: int = 7) -> tuple[int, int]:
    """What ListOffsets says of one partition."""
    wanted = ListOffsetsPartition(0, timestamp=timestamp)
    request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic("orders", [wanted])])
    row = client.ask(request, version).topics[0].partitions[0]
    return row.offset, row.timestamp


def test_offsets_are_found_by_their_time() -> None:
    """Nothing found is minus one, twice."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "a", "b")
        written = 1_700_000_000_000
        assert offset_at(client, -2) == (0, -1)
        assert offset_at(client, -1) == (2, -1)
        assert offset_at(client, -3) == (0, written)
        assert offset_at(client, written) == (0, written)
        assert offset_at(client, written + 1) == (-1, -1)


def test_leaderships_that_are_not_ours_are_refused() -> None:
    """A client that believes in a later one waits; one that believes in an earlier one is told."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "a")

        def ask(current: int, epoch: int) -> tuple[int, int]:
            wanted = OffsetForLeaderPartition(0, current, epoch)
            request = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("orders", [wanted])])
            row = client.ask(request).topics[0].partitions[0]
            return row.error_code, row.end_offset

        assert ask(0, 0) == (ErrorCode.NONE, 1)
        assert ask(7, 0) == (ErrorCode.UNKNOWN_LEADER_EPOCH, -1)


def test_log_dirs_tell_what_lies_in_them() -> None:
    """Of both dirs, with sizes and what is left."""
    with Stage() as stage:
        stage.make("orders", partitions=2)
        client = stage.client()
        client.produce("orders", "a")
        answer = client.ask(DescribeLogDirsRequest(None))
        assert len(answer.results) == 2
        rows = [
            row for result in answer.results for topic in result.topics for row in topic.partitions
        ]
        assert sorted(row.partition_size > 0 for row in rows) == [False, True]
        assert all(result.total_bytes >= result.usable_bytes > 0 for result in answer.results)
        disk = stage.machine.disk("disk-a")
        disk.faults.capacity = disk.used + 1_000_000
        (full, _) = client.ask(DescribeLogDirsRequest(None)).results
        assert full.total_bytes == disk.faults.capacity  # also what others have written counts


def test_the_cluster_is_described_in_two_ways() -> None:
    """By its brokers, and topic by topic with a cursor."""
    with Stage() as stage:
        stage.make("a", partitions=2)
        stage.make("b", partitions=2)
        client = stage.client()
        cluster = client.ask(DescribeClusterRequest())
        assert (cluster.controller_id, len(cluster.brokers)) == (1, 1)
        first = client.ask(
            DescribeTopicPartitionsRequest(
                [TopicRequest("a"), TopicRequest("b")], response_partition_limit=3
            )
        )
        assert [len(topic.partitions) for topic in first.topics] == [2, 1]
        cursor = first.next_cursor
        assert (cursor.topic_name, cursor.partition_index) == ("b", 1)
    with Stage(max_request_partition_size_limit="1") as stage:
        stage.make("a", partitions=2)
        first = stage.client().ask(DescribeTopicPartitionsRequest([TopicRequest("a")]))
        assert first.next_cursor.partition_index == 1


def test_every_producer_gets_an_id_of_its_own() -> None:
    """Also after a restart: a block that was begun is not given out again."""
    with Stage() as stage:
        client = stage.client()
        first = [client.ask(InitProducerIdRequest(None, 0)).producer_id for _ in range(2)]
        stage.stop()
        stage.start()
        later = stage.client().ask(InitProducerIdRequest(None, 0)).producer_id
        assert len({*first, later}) == 3


def test_a_success_has_no_message() -> None:
    """Kafka sends null; some clients take an empty text for an error."""
    with Stage() as stage:
        client = stage.client()
        (made,) = client.ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)])).topics
        grown = client.ask(
            CreatePartitionsRequest([CreatePartitionsTopic("orders", 2, None)], 1_000)
        )
        deletion = DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=1_000)
        gone = client.ask(deletion)
    rows = [made, *grown.results, *gone.responses]
    assert [(row.error_code, row.error_message) for row in rows] == [(ErrorCode.NONE, None)] * 3

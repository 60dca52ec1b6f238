"""A broker from its start to its stop, and what is there when it comes back."""

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from odradek.broker.control.controller_loop import ControllerLoop
from odradek.controller.events import CreationAsked
from odradek.model.errors import BrokerError, ErrorCode
from odradek.records.batch import headers
from odradek.records.record import read_records
from odradek.sim.doors.worker import SimulatedWorker
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.zookeeper.client.states import Status
from tests.unit.broker.stage import Stage


def values(row: PartitionData) -> list[str]:
    """The values of all records."""
    assert isinstance(row.records, memoryview), row
    data = bytes(row.records)
    return [
        (record.value or b"").decode()
        for position, header in headers(data)
        for record in read_records(data, header, position)
    ]


class CountedEvents:
    """Counts the creations that a controller is asked for."""

    def __init__(self, controller: ControllerLoop) -> None:
        self.creations = 0
        put = controller._put

        def counted(item: Any) -> None:
            self.creations += isinstance(item.event, CreationAsked)
            put(item)

        controller._put = counted  # type: ignore[method-assign]


def test_a_broker_tells_who_is_there() -> None:
    """Itself, as the controller of a cluster of one."""
    with Stage() as stage:
        answer = stage.client().ask(MetadataRequest(topics=None))
    assert [(it.node_id, it.port) for it in answer.brokers] == [(1, 9092)]
    assert answer.controller_id == 1
    assert len(answer.cluster_id) == 22
    assert answer.topics == []


def test_the_path_below_which_a_cluster_lives_is_made() -> None:
    """Nobody has to make it before the first broker starts; what is in it stays."""
    connect = "127.0.0.1:2181/kafka/blue"
    with Stage(zookeeper_connect=connect, zookeeper_embedded="true") as stage:
        first = stage.client().ask(MetadataRequest(topics=None)).cluster_id
        stage.stop()
        stage.start()
        assert stage.client().ask(MetadataRequest(topics=None)).cluster_id == first


def test_a_broker_without_a_number_draws_one_and_keeps_it() -> None:
    """It is above those that may be written down, and stands in the log dirs from then on."""
    with Stage(broker_id="-1") as stage:
        answer = stage.client().ask(MetadataRequest(topics=None))
        assert [it.node_id for it in answer.brokers] == [1_001]
        stage.stop()
        stage.start()
        answer = stage.client().ask(MetadataRequest(topics=None))
        assert [it.node_id for it in answer.brokers] == [1_001]


def test_what_was_produced_is_fetched() -> None:
    """At the offsets that were answered."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        assert client.produce("orders", "a", "b").base_offset == 0
        assert client.produce("orders", "c").base_offset == 2
        row = client.fetch("orders", 1)
        assert (row.high_watermark, values(row)) == (3, ["a", "b", "c"])


def test_what_was_acknowledged_survives_a_stop_and_a_kill() -> None:
    """Records, topics and the id of the cluster are all there again."""
    with Stage() as stage:
        stage.make("orders", partitions=2)
        client = stage.client()
        client.produce("orders", "a", partition=1)
        cluster_id = client.ask(MetadataRequest(topics=None)).cluster_id
        stage.stop()
        stage.start()
        client = stage.client()
        client.produce("orders", "b", partition=1)
        stage.kill()
        stage.start()
        client = stage.client()
        assert values(client.fetch("orders", 0, partition=1)) == ["a", "b"]
        assert client.ask(MetadataRequest(topics=None)).cluster_id == cluster_id


def test_the_session_ends_after_the_logs_are_closed() -> None:
    """Other brokers would lead, and count this one as dead, while its disks are still written."""
    with Stage() as stage:
        stage.make("orders")
        stage.client().produce("orders", "a")
        client = stage.running.services_of_this_life.config_admin._client
        found = (it.worker for it in stage.running.doors.dirs)
        workers = [it for it in found if isinstance(it, SimulatedWorker)]
        for worker in workers:
            worker.hang()
        stage.running.stop()
        stage.run(2)
        assert (stage.machine.running, client.status) == (True, Status.CONNECTED)
        for worker in workers:
            worker.go_on()
        stage.run(2)
        assert (stage.machine.running, client.status) == (False, Status.CLOSED)


def test_a_start_that_fails_leaves_clean_logs() -> None:
    """Whoever mistyped a listener does not wait for all logs to be checked the next time."""
    with Stage() as stage:
        stage.make("orders")
        stage.client().produce("orders", "a")
        stage.stop()
        wrong = "PLAINTEXT://nowhere:9092"
        with stage.settings(listeners=wrong), pytest.raises(ExceptionGroup) as refused:
            stage.start()
        (error,) = refused.value.exceptions
        assert str(error) == f"listeners={wrong}: Name or service not known"
        with capture_logs() as said:
            stage.start()
        opened = [event["clean"] for event in said if "clean" in event]
        assert opened == [True]  # a dir without logs says nothing
        assert values(stage.client().fetch("orders", 0)) == ["a"]


def test_a_topic_that_is_deleted_is_gone_and_may_come_back_empty() -> None:
    """A new topic of the same name has another id, and nothing of the old one."""
    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "old")
        (gone,) = client.ask(
            DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=5_000)
        ).responses
        assert gone.error_code == ErrorCode.NONE
        missing = client.fetch("orders", 0)
        assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        stage.make("orders")
        assert client.fetch("orders", 0).high_watermark == 0
        stage.stop()
        stage.start()
        assert values(stage.client().fetch("orders", 0)) == []


def test_a_topic_comes_into_being_when_it_is_first_asked_for() -> None:
    """If the client allows it; the answer names its leader already."""
    with Stage() as stage:
        client = stage.client()
        asked = [MetadataRequestTopic(name="orders")]
        not_made = client.ask(MetadataRequest(topics=asked, allow_auto_topic_creation=False))
        assert not_made.topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        made = client.ask(MetadataRequest(topics=asked))
        assert made.topics[0].error_code == ErrorCode.NONE
        assert made.topics[0].partitions[0].leader_id == 1


@pytest.mark.parametrize("version", [10, 11])
def test_topics_without_names_are_asked_for_when_answers_may_lack_them(version: int) -> None:
    """Kafka refuses it, too; and nothing is made of what was asked for beside it."""
    asked = [MetadataRequestTopic(name="orders"), MetadataRequestTopic(bytes(range(16)), None)]
    with Stage() as stage:
        client = stage.client()
        refused = client.ask(MetadataRequest(topics=asked), version).topics
        assert [it.error_code for it in refused] == [ErrorCode.INVALID_REQUEST] * 2
        answered = client.ask(MetadataRequest(topics=asked[1:]), 12).topics
        assert [it.error_code for it in answered] == [ErrorCode.UNKNOWN_TOPIC_ID]
        assert client.ask(MetadataRequest(topics=None)).topics == []


def test_many_topics_that_are_asked_for_are_made_together() -> None:
    """Each has its own outcome, and the controller decides on all of them at once."""
    with Stage() as stage:
        names = [f"topic-{number}" for number in range(40)]
        wanted = [MetadataRequestTopic(name=it) for it in (*names, "bad name")]
        events = CountedEvents(stage.running.services_of_this_life.controller)
        answer = stage.client().ask(MetadataRequest(topics=wanted), 9)
        codes = {it.name: it.error_code for it in answer.topics}
        assert codes.pop("bad name") == ErrorCode.INVALID_TOPIC_EXCEPTION
        assert codes == dict.fromkeys(names, ErrorCode.NONE)
        assert events.creations == 1


def test_who_waits_for_a_topic_that_another_asked_for_learns_why_it_is_not_made() -> None:
    """Not only the first client is told that there are too few brokers."""
    with Stage(default_replication_factor="3") as stage:
        admin = stage.running.services_of_this_life.auto_topics

        async def at_once() -> list[dict[str, BrokerError]]:
            return await asyncio.gather(*(admin.ensure_all(["orders"]) for _ in range(3)))

        found = stage.world.ask("broker", at_once())
    codes = [errors["orders"].code for errors in found]
    assert codes == [ErrorCode.INVALID_REPLICATION_FACTOR] * 3


def test_a_topic_that_is_asked_for_while_it_is_deleted_comes_anew() -> None:
    """As soon as the old one has gone: the tree has it for longer than the brokers know it."""
    with Stage() as stage:
        stage.make("orders", partitions=300)
        client, other = stage.client(), stage.client()
        client.send(DeleteTopicsRequest(topics=[DeleteTopicState("orders")], timeout_ms=0))
        while "orders" in stage.running.cluster.image.topics:
            stage.run(0.0001)
        asked = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
        (found,) = other.ask(asked, seconds=2).topics
        assert (found.error_code, len(found.partitions)) == (ErrorCode.NONE, 1)


def test_a_fetch_waits_until_there_is_something() -> None:
    """It is woken by what comes; nobody looks for those who wait."""
    with Stage() as stage:
        stage.make("orders")
        reader, writer = stage.client("reader"), stage.client("writer")
        wanted = FetchTopic("orders", partitions=[FetchPartition(0, partition_max_bytes=1 << 20)])
        number = reader.send(FetchRequest(max_wait_ms=20_000, min_bytes=1, topics=[wanted]))
        stage.run(5)
        assert not reader.has_answer(number)
        writer.produce("orders", "a")
        row = reader.answer_to(number, seconds=1).responses[0].partitions[0]
        assert values(row) == ["a"]


def test_a_fetch_that_waits_in_vain_is_answered_when_its_time_is_up() -> None:
    """It gets what there is, which is nothing, and asks again."""
    with Stage() as stage:
        stage.make("orders")
        assert values(stage.client().fetch("orders", 0, max_wait_ms=3_000)) == []


def test_what_is_not_in_memory_is_read_by_the_disks_worker_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The loop never waits for a disk; the client waits for its answer as for any other."""
    asked: list[int] = []

    def is_cold(self: object, position: int, length: int) -> bool:
        del self, length
        asked.append(position)
        return False

    with Stage() as stage:
        stage.make("orders")
        client = stage.client()
        client.produce("orders", "a")
        monkeypatch.setattr("odradek.sim.doors.disk.SimulatedFile.is_cached", is_cold)
        assert values(client.fetch("orders", 0)) == ["a"]
    assert asked == [0]

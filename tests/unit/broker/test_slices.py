"""Large requests are done in slices: those of others are answered in between."""

import asyncio
from collections.abc import Callable

import pytest

from odradek.broker.slices import ROWS_IN_A_SLICE, Slices, Steps, at_once
from odradek.model.errors import ErrorCode
from odradek.wire.compiler.source import ELEMENTS_IN_A_SLICE
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.schema import Request
from tests.unit.broker.stage import Stage
from tests.unit.broker.test_produce import with_groups

ROWS = 20_000


def produce() -> Request:
    """Batches that are none, for partitions that do not exist."""
    rows = [PartitionProduceData(number, b"") for number in range(ROWS)]
    return ProduceRequest(None, -1, 10_000, [TopicProduceData("nowhere", partition_data=rows)])


def metadata() -> Request:
    """Topics that do not exist, and are not made."""
    topics = [MetadataRequestTopic(name=f"t{number}") for number in range(ROWS)]
    return MetadataRequest(topics=topics, allow_auto_topic_creation=False)


def commit() -> Request:
    """Positions in partitions that do not exist."""
    rows = [OffsetCommitRequestPartition(number, 1) for number in range(1, ROWS)]
    return OffsetCommitRequest("readers", topics=[OffsetCommitRequestTopic("one", partitions=rows)])


def describe() -> Request:
    """Settings of topics that do not exist."""
    return DescribeConfigsRequest([DescribeConfigsResource(2, f"t{it}") for it in range(ROWS)])


def positions() -> Request:
    """Of groups that do not exist."""
    return OffsetFetchRequest(groups=[OffsetFetchRequestGroup(f"g{it}") for it in range(ROWS)])


@pytest.mark.parametrize(
    ("large", "passes"),
    [(produce, 2), (metadata, 2), (commit, 2), (describe, 4), (positions, 4)],
)
def test_a_large_request_is_done_in_many_turns(
    large: Callable[[], Request], passes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading it, handling it and encoding its answer: who sends a million rows waits, alone.

    An element with an array of its own is passed twice in reading, and twice in encoding.
    """
    turns: list[int] = []
    go_on = Slices._go_on

    def count(slices: Slices) -> None:
        turns.append(1)
        go_on(slices)

    monkeypatch.setattr(Slices, "_go_on", count)
    with Stage() as stage:
        stage.make("one")
        client = with_groups(stage)
        turns.clear()
        client.ask(large())
        assert len(turns) > passes * ROWS / ELEMENTS_IN_A_SLICE + ROWS / ROWS_IN_A_SLICE - 5


def test_leaders_are_named_in_many_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """From version 10 on each row is looked at once more, for who leads its partition now."""
    turns: list[int] = []
    go_on = Slices._go_on

    def count(slices: Slices) -> None:
        turns.append(1)
        go_on(slices)

    monkeypatch.setattr(Slices, "_go_on", count)
    with Stage() as stage:
        client, counts = stage.client(), []
        for version in (9, 10):
            turns.clear()
            client.ask(produce(), version)
            counts.append(len(turns))
    assert counts[1] >= counts[0] + ROWS // ROWS_IN_A_SLICE - 1


def alter() -> Request:
    """Settings of what there is not."""
    return IncrementalAlterConfigsRequest([AlterConfigsResource(99, f"{it}") for it in range(ROWS)])


def delete() -> Request:
    """Topics that do not exist."""
    return DeleteTopicsRequest(
        [DeleteTopicState(None, it.to_bytes(16, "big")) for it in range(1, ROWS)]
    )


def find() -> Request:
    """Coordinators of many groups."""
    return FindCoordinatorRequest(key_type=0, coordinator_keys=[f"g{it}" for it in range(ROWS)])


@pytest.mark.parametrize("large", [alter, delete, find])
def test_a_large_request_gives_others_their_turns(
    large: Callable[[], Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a task serves needs no right to take long: it pauses as the others do."""
    turns: list[float] = []
    sleep = asyncio.sleep

    async def count(delay: float) -> None:
        turns.append(delay)
        await sleep(delay)

    with Stage() as stage:
        client = with_groups(stage)
        monkeypatch.setattr(asyncio, "sleep", count)
        client.ask(large())
        monkeypatch.undo()
        assert turns.count(0) >= ROWS // ROWS_IN_A_SLICE - 1


def test_requests_behind_a_large_one_are_answered_behind_it() -> None:
    """Though they are small: on one connection requests begin and are answered in their order."""
    with Stage() as stage:
        client = stage.client()
        large, small = client.send(metadata()), client.send(MetadataRequest(topics=None))
        assert len(client.answer_to(large).topics) == ROWS
        assert client.answer_to(small).topics is not None


def test_a_client_that_leaves_takes_its_large_request_with_it() -> None:
    """Its rest is not done for nobody; those of others go on."""
    with Stage() as stage:
        leaving, staying = stage.client(), stage.client()
        leaving.send(metadata())
        number = staying.send(metadata())
        leaving.hang_up()
        assert len(staying.answer_to(number).topics) == ROWS


def test_a_commit_that_makes_no_batch_is_refused_whole() -> None:
    """As with Kafka; here before a million records are made of it."""
    with Stage() as stage:
        stage.make("one")
        client = with_groups(stage)
        rows = [OffsetCommitRequestPartition(0, offset) for offset in range(30_000)]
        topics = [OffsetCommitRequestTopic("one", partitions=rows)]
        (topic,) = client.ask(OffsetCommitRequest("readers", topics=topics)).topics
        assert {row.error_code for row in topic.partitions} == {
            ErrorCode.INVALID_COMMIT_OFFSET_SIZE
        }


def test_what_comes_of_it_is_the_same_at_once() -> None:
    """A generator returns what a function would."""

    def steps() -> Steps[int]:
        yield
        return 7

    assert at_once(steps()) == 7


def test_what_is_short_is_done_in_the_turn_in_which_it_came() -> None:
    """No loop is asked for another turn."""

    def steps() -> Steps[None]:
        yield from ()

    assert not Slices().begin(steps(), lambda: False)

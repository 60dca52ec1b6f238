"""Requests with thousands of rows from a client without any right: no turn of the loop is long."""

import sys
from collections import Counter
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

from odradek.broker.access.refusals import refused_in_slices
from odradek.broker.handlers import alter_replica_log_dirs, write_txn_markers
from odradek.broker.handlers.groups import offset_commit
from odradek.broker.slices import ROWS_IN_A_SLICE, at_once
from odradek.model.errors import ErrorCode
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.produce import PartitionProduceData
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from odradek.wire.schema import Array, Request, Struct
from tests.unit.broker.kafka_needs import FACTS
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.test_access import Ruled

ROWS = 3_000
NAMES = ("name", "topic", "group_id", "transactional_id", "resource_name", "path", "feature")
NUMBERS = ("index", "partition", "partition_index", "producer_id")


class Calls:
    """Counts how often each function is called in a turn of a stage's loop."""

    def __init__(self, stage: Stage) -> None:
        self._loop = stage.world.loop
        self._turn = 0
        self._seen = Counter[CodeType]()
        self.most, self.of = 0, ""

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        """A function is called, or a generator goes on."""
        del argument
        if event != "call":
            return
        if self._turn != self._loop.events:
            self._turn = self._loop.events
            self._seen.clear()
        code = frame.f_code
        self._seen[code] += 1
        if self._seen[code] > self.most:
            self.most, self.of = self._seen[code], code.co_qualname


def copied(value: Any) -> Any:
    """With all that is in it."""
    if isinstance(value, list | tuple):
        return [copied(it) for it in value]
    if not isinstance(value, Struct):
        return value
    return type(value)(*(copied(getattr(value, it.name)) for it in value.FIELDS))


def numbered(row: Any, number: int) -> Any:
    """Another row like this one."""
    if not isinstance(row, Struct):
        return f"{row}-{number}" if isinstance(row, str) else number
    row = copied(row)
    for field in row.FIELDS:
        if field.name in NAMES and getattr(row, field.name):
            setattr(row, field.name, f"{getattr(row, field.name)}-{number}")
            break
        if field.name in NUMBERS:
            setattr(row, field.name, number)
            break
    return row


def long_ones(whole: Struct, within: str = "") -> Iterator[str]:
    """Makes each of its arrays long in turn; its name."""
    for field in whole.FIELDS:
        rows = getattr(whole, field.name)
        if not isinstance(field.type, Array) or not rows:
            continue
        setattr(whole, field.name, [numbered(rows[0], it) for it in range(ROWS)])
        yield within + field.name
        setattr(whole, field.name, rows)
        if isinstance(rows[0], Struct):
            yield from long_ones(rows[0], f"{within}{field.name}.")


def most_called(client: Client, request: Request, version: int | None = None) -> tuple[int, str]:
    """Until there is an answer: how often one function is called in one turn, and which."""
    calls, number = Calls(client.stage), client.send(request, version)
    sys.setprofile(calls)
    try:
        while not client.has_answer(number):
            client.stage.world.run(millis=5)
    finally:
        sys.setprofile(None)
    return calls.most, calls.of


@pytest.fixture(scope="module")
def stranger() -> Iterator[Client]:
    """A client without any right."""
    with Ruled() as stage:
        yield stage.under()


@pytest.mark.parametrize("name", sorted(FACTS))
def test_no_turn_is_long(name: str, stranger: Client) -> None:
    """Neither the reading, the decisions, the refusal nor what comes behind it."""
    request = copied(FACTS[name].request("orders", "readers"))
    for shape in long_ones(request):
        most, of = most_called(stranger, request)
        assert most < ROWS // 2, (shape, of)


@pytest.mark.parametrize("name", ["Fetch", "ListOffsets", "Produce"])
def test_no_turn_is_long_for_an_old_client(name: str, stranger: Client) -> None:
    """Its answer is made from that of today."""
    request = copied(FACTS[name].request("orders", "readers"))
    for shape in long_ones(request):
        most, of = most_called(stranger, request, version=0)
        assert most < ROWS // 2, (shape, of)


def test_no_turn_is_long_for_a_forged_follower(stranger: Client) -> None:
    """Who is told so for each partition."""
    request = copied(FACTS["Fetch"].request("orders", "readers"))
    request.replica_id = 7
    for shape in long_ones(request):
        most, of = most_called(stranger, request, version=12)
        assert most < ROWS // 2, (shape, of)


def codes(answer: Any) -> list[int]:
    """One for each partition of the first topic."""
    (topic,) = answer.responses
    assert [it.index for it in topic.partition_responses] == list(range(ROWS))
    return [it.error_code for it in topic.partition_responses]


def test_a_refusal_in_slices_is_the_same(stranger: Client) -> None:
    """A topic with thousands of partitions stands in it once, and each of them in its place."""
    request = copied(FACTS["Produce"].request("orders", "readers"))
    request.topic_data[0].partition_data = [PartitionProduceData(it, b"") for it in range(ROWS)]
    found = codes(stranger.ask(request))
    assert found == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * ROWS


class Deep(NamedTuple):
    """A request with rows within rows of rows, and how its API refuses it."""

    request: Request
    refuse: Any
    version: int


def markers(each: int) -> Deep:
    """Some producers, with some topics of some partitions."""
    rows = [
        WritableTxnMarker(
            producer,
            topics=[WritableTxnMarkerTopic(f"t{it}", list(range(each))) for it in range(each)],
        )
        for producer in range(each)
    ]
    return Deep(WriteTxnMarkersRequest(rows), write_txn_markers.API.refuse, 1)


def log_dirs(each: int) -> Deep:
    """Whose answers have a level less."""
    rows = [
        AlterReplicaLogDir(
            f"/disk-{disk}",
            [AlterReplicaLogDirTopic(f"t{it}", list(range(each))) for it in range(each)],
        )
        for disk in range(each)
    ]
    return Deep(AlterReplicaLogDirsRequest(rows), alter_replica_log_dirs.API.refuse, 1)


def commits(each: int) -> Deep:
    """Of positions."""
    topics = [
        OffsetCommitRequestTopic(
            f"t{it}", partitions=[OffsetCommitRequestPartition(at) for at in range(each * each)]
        )
        for it in range(each)
    ]
    return Deep(OffsetCommitRequest("readers", topics=topics), offset_commit.API.refuse, 8)


@pytest.mark.parametrize("deep", [markers, log_dirs, commits])
@pytest.mark.parametrize("each", [1, 7, 15, 20])
def test_what_is_refused_in_parts_is_put_together(deep: Any, each: int) -> None:
    """As if it had been refused at once."""
    request, refuse, version = deep(each)
    how = version, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no"
    pieces = list[int]()

    def refuse_part(part: Request) -> Any:
        pieces.append(1)
        return refuse(part, *how)

    found = at_once(refused_in_slices(refuse_part, request))
    assert found == refuse(request, *how)
    assert len(pieces) > each**3 // ROWS_IN_A_SLICE

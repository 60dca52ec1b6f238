"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords of a partition with followers."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from odradek.access.decisions import Decisions
from odradek.broker.access.authorizer import Authorizer, NotAuthorized
from odradek.broker.handlers import delete_records, fetch, list_offsets, offset_for_leader_epoch
from odradek.broker.handlers.replica_requests import check_replica
from odradek.broker.services import Services
from odradek.model.errors import ErrorCode
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from odradek.wire.messages.fetch import FetchRequest, ReplicaState
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from tests.unit.broker.fetch_ground import Asked, Reading, live
from tests.unit.broker.ground import PlainSettings

LATEST, EARLIEST, GREATEST, EARLIEST_LOCAL, LATEST_TIERED = -1, -2, -3, -4, -5
STAMP = 1_700_000_000_000
CONSUMER, FOLLOWER = -1, 2


def services_of(t: Reading) -> Services:
    """What these handlers work with."""
    parts = {
        "replicas": t.replicas,
        "inter_broker_listener": "PLAINTEXT",
        "settings": PlainSettings({}, {}),
        "timers": t.timers,
        "doors": SimpleNamespace(clock=t.clock),
        "fetches": t.fetches,
        "access": None,
    }
    return cast("Services", SimpleNamespace(**parts))


async def offset(
    t: Reading, timestamp: int, *, replica: int = CONSUMER, version: int = 9
) -> ListOffsetsPartitionResponse:
    """What ListOffsets says."""
    topics = [ListOffsetsTopic("orders", [ListOffsetsPartition(0, -1, timestamp)])]
    request = ListOffsetsRequest(replica, 0, topics)
    answer = await list_offsets.handle(services_of(t), Asked(version), request)
    row = answer.topics[0].partitions[0]
    assert isinstance(row, ListOffsetsPartitionResponse)
    return row


async def half_committed(t: Reading) -> None:
    """Of two records one."""
    await t.lead()
    await t.append("one")
    await t.append("two")
    for follower in (2, 3):
        t.follow(follower, 1)
    assert t.led.log.high_watermark == 1


def test_a_consumer_finds_the_end_of_what_is_committed_and_a_follower_that_of_the_log() -> None:
    """A consumer that began behind the high watermark would pass over records."""

    async def talk(t: Reading) -> None:
        await half_committed(t)
        assert (await offset(t, LATEST)).offset == 1
        assert (await offset(t, LATEST, replica=FOLLOWER)).offset == 2

    live(talk)


def test_a_time_is_looked_up_among_what_is_committed() -> None:
    """The record that would be found may still be lost, and be another one then."""

    async def talk(t: Reading) -> None:
        await t.lead()
        await t.append("one")
        assert (await offset(t, STAMP)).offset == -1
        assert (await offset(t, GREATEST)).offset == -1
        assert (await offset(t, STAMP, replica=FOLLOWER)).offset == 0
        t.follow(2, 1)
        t.follow(3, 1)
        assert (await offset(t, STAMP)).offset == 0
        assert (await offset(t, GREATEST)).offset == 0

    live(talk)


def test_a_new_leader_does_not_say_where_the_end_is_before_it_knows() -> None:
    """KIP-207: its high watermark may be behind what its predecessor had told consumers."""

    async def talk(t: Reading) -> None:
        await half_committed(t)
        await t.lead(epoch=4)
        code = ErrorCode.OFFSET_NOT_AVAILABLE
        assert (await offset(t, LATEST)).error_code == code
        assert (await offset(t, STAMP + 1)).error_code == code
        assert (await offset(t, LATEST, replica=FOLLOWER)).offset == 2
        assert (await offset(t, EARLIEST)).offset == 0
        assert (await offset(t, STAMP)).offset == 0
        for follower in (2, 3):
            t.follow(follower, 2, epoch=4)
        assert (await offset(t, LATEST)).offset == 2

    live(talk)


def test_places_that_an_old_version_does_not_know_are_refused() -> None:
    """What is on the broker's own disks is all that there is."""

    async def talk(t: Reading) -> None:
        await t.lead()
        refused = ErrorCode.UNSUPPORTED_VERSION
        assert (await offset(t, EARLIEST_LOCAL)).offset == 0
        assert (await offset(t, EARLIEST_LOCAL, version=7)).error_code == refused
        tiered = await offset(t, LATEST_TIERED)
        assert (tiered.error_code, tiered.offset) == (0, -1)
        assert (await offset(t, LATEST_TIERED, version=8)).error_code == refused
        assert (await offset(t, GREATEST, version=6)).error_code == refused
        assert (await offset(t, -6)).error_code == refused

    live(talk)


def test_a_replica_id_needs_a_right_where_there_are_rights() -> None:
    """It moves the high watermark by what it says; without rights by whatever listener it comes."""

    async def talk(t: Reading) -> None:
        await t.lead()
        asked = Asked(17)
        asked.connection.listener = "CLIENTS"
        services = services_of(t)
        check_replica(services, asked)
        services.access = Authorizer(Decisions(), "PLAINTEXT")
        with pytest.raises(NotAuthorized):
            offset_for_leader_epoch.handle(services, asked, OffsetForLeaderEpochRequest(2))
        with pytest.raises(NotAuthorized):
            await list_offsets.handle(services, asked, ListOffsetsRequest(2))
        for request in (FetchRequest(replica_id=2), FetchRequest(replica_state=ReplicaState(2))):
            with pytest.raises(NotAuthorized):
                fetch.handle(services, asked, request)

    live(talk)


async def delete(t: Reading, below: int, patience: int = 5_000) -> DeleteRecordsPartitionResult:
    """What DeleteRecords says."""
    topics = [DeleteRecordsTopic("orders", [DeleteRecordsPartition(0, below)])]
    request = DeleteRecordsRequest(topics, patience)
    answer = await delete_records.handle(services_of(t), Asked(2), request)
    row = answer.topics[0].partitions[0]
    assert isinstance(row, DeleteRecordsPartitionResult)
    return row


def test_records_are_deleted_once_every_live_replica_has_deleted_them() -> None:
    """Else one of them could bring them back as the next leader."""

    async def talk(t: Reading) -> None:
        await half_committed(t)
        late = await delete(t, 1, patience=50)
        assert late.error_code == ErrorCode.REQUEST_TIMED_OUT
        deleting = asyncio.ensure_future(delete(t, 1))
        assert t.follow(2, 2, start=1).row.log_start_offset == 1
        await t.turn()
        assert not deleting.done()
        t.follow(3, 2, start=1)
        assert (await deleting).low_watermark == 1

    live(talk)


def test_a_deletion_ends_with_the_leadership() -> None:
    """The new leader's records are another matter."""

    async def talk(t: Reading) -> None:
        await half_committed(t)
        deleting = asyncio.ensure_future(delete(t, 1))
        await t.turn()
        await t.lead(epoch=5, leader=3)
        assert (await deleting).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER

    live(talk)

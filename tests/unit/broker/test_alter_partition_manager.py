"""Changes of very many ISRs go to the controller a thousand at a time, and each is answered."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial

import pytest
from structlog.testing import capture_logs

from odradek.broker import repeated_failures
from odradek.broker.control.metadata_cache import MetadataCache
from odradek.broker.control.to_controller import ControllerRequests
from odradek.broker.partitions.replica_manager import ReplicaManager
from odradek.broker.partitions.replicas import alter_partition_manager
from odradek.broker.partitions.replicas.alter_partition_manager import AlterPartitionManager
from odradek.broker.partitions.replicas.hosted import LeaderAndIsrState
from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.roles import RoleChanges
from odradek.metadata.image import Changes
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.model.positions import BrokerEpoch, LeaderEpoch, Offset
from odradek.model.units import Millis
from odradek.replication.leadership import Leadership
from odradek.replication.progress import FollowerFetch
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from odradek.wire.schema import Request, Response
from tests.unit.broker.ground import ME, Ground, word

OTHER = BrokerId(2)
PARTITIONS = 5
Rows = list[ResponsePartitionData]
Answering = Callable[[ReplicaManager, list[int]], Awaitable[Rows]]


def accepted(number: int, *, epoch: int = 0) -> ResponsePartitionData:
    """The ISR is what was proposed."""
    return ResponsePartitionData(number, 0, ME, epoch, (ME, OTHER), partition_epoch=1)


class Scene:
    """Five leaderships whose follower has caught up, and a controller."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, answering: Answering) -> None:
        monkeypatch.setattr(alter_partition_manager, "PARTITIONS_MAX", 2)
        monkeypatch.setattr(alter_partition_manager, "ROWS_IN_A_SLICE", 1)
        self.asked: list[list[int]] = []  # partitions, by request
        self._answering = answering
        self.ground = Ground()

    def run(self, seconds: float = 1.0) -> list[LeadingReplica]:
        """The leaders, as they are afterwards."""
        led: list[LeadingReplica] = []

        async def talk(replicas: ReplicaManager) -> None:
            cluster = MetadataCache()
            cluster.me = ME
            cluster.update(Changes(cluster.image).controller(ME).image())
            controller = ControllerRequests(
                cluster,
                None,  # type: ignore[arg-type]  # no others
                lambda request: self._ask(replicas, request),
            )
            manager = AlterPartitionManager(cluster, self.ground.machine.clock)
            self.manager = manager
            self.ground.proposals.propose = manager.propose  # type: ignore[method-assign]
            await lead(replicas)
            asking = asyncio.create_task(manager.run(controller))
            await asyncio.sleep(seconds)
            asking.cancel()
            led.extend(replicas.all_led())

        with self.ground as g, capture_logs() as self.written:
            g.live(talk)
        return led

    async def _ask(self, replicas: ReplicaManager, request: Request) -> Response:
        assert isinstance(request, AlterPartitionRequest), request
        (topic,) = request.topics
        numbers = [row.partition_index for row in topic.partitions]
        self.asked.append(numbers)
        rows = await self._answering(replicas, numbers)
        return AlterPartitionResponse(topics=[ResponseTopicData("", topic.topic_id, rows)])


def state(number: int, *, epoch: int = 0) -> LeaderAndIsrState:
    """The controller's word: the follower is not in the ISR."""
    found = word(TopicPartition("orders", number), epoch=epoch)
    return found._replace(leadership=Leadership(*found.leadership[:2], (ME, OTHER), (ME,)))


async def lead(replicas: ReplicaManager) -> None:
    """The follower fetches from the end of each log."""
    assert not await replicas.apply_leader_and_isr([state(it) for it in range(PARTITIONS)])
    follow(replicas, LeaderEpoch(0))


def follow(replicas: ReplicaManager, epoch: LeaderEpoch) -> None:
    """The follower fetches from the end of each log that is led in this epoch."""
    fetch = FollowerFetch(OTHER, Offset(0), epoch, True, BrokerEpoch(7))  # noqa: FBT003
    led = (it for it in replicas.all_led() if it.leader_epoch == epoch)
    for leading in sorted(led, key=lambda it: it.partition):
        leading.carry_out(leading.leader.on_follower_fetch(fetch, Millis(0)))


def test_each_request_names_some_and_all_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller judges and writes a part, and brokers hear of it, before the next comes."""

    async def answering(_: ReplicaManager, numbers: list[int]) -> Rows:
        return [accepted(it) for it in numbers]

    t = Scene(monkeypatch, answering)
    led = t.run()
    assert t.asked == [[0, 1], [2, 3], [4]]
    assert all(it.leader.isr.committed == {ME, OTHER} for it in led)


def test_who_joins_and_who_leaves_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """What boards show as shrinks and expands: replicas, once the controller has agreed."""

    async def answering(replicas: ReplicaManager, numbers: list[int]) -> Rows:
        led = {it.partition.partition: it for it in replicas.all_led()}
        rows = []
        for it in numbers:
            has_joined = OTHER in led[it].leader.isr.committed
            isr, epoch = ((ME,), 2) if has_joined else ((ME, OTHER), 1)
            rows.append(ResponsePartitionData(it, 0, ME, 0, isr, partition_epoch=epoch))
        asyncio.get_running_loop().call_later(0.1, lag, led[4])
        return rows

    def lag(leading: LeadingReplica) -> None:
        leading.leader.on_append(Offset(1), Millis(0))
        leading.carry_out(leading.leader.on_time(Millis(60_000)))

    t = Scene(monkeypatch, answering)
    t.run()
    assert (t.manager.expands, t.manager.shrinks) == (PARTITIONS, 1)


def test_partitions_without_an_answer_hold_up_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are asked again behind the others."""

    async def answering(_: ReplicaManager, numbers: list[int]) -> Rows:
        return [accepted(it) for it in numbers if it not in {0, 1}]

    t = Scene(monkeypatch, answering)
    t.run(seconds=0.3)
    assert t.asked[:4] == [[0, 1], [2, 3], [4, 0], [1, 0]]


def test_a_leadership_ends_while_an_answer_is_taken_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between two slices the controller names another leader epoch: the answer is of the last."""

    async def answering(replicas: ReplicaManager, numbers: list[int]) -> Rows:
        if 1 in numbers:
            change = partial(replicas.change_roles, [state(1, epoch=1)], RoleChanges())
            asyncio.get_running_loop().call_soon(change)
        return [accepted(it) for it in numbers]

    led = Scene(monkeypatch, answering).run()
    joined = {it.partition.partition for it in led if OTHER in it.leader.isr.committed}
    assert joined == {0, 2, 3, 4}


def test_what_the_controller_does_not_know_is_asked_again_and_holds_up_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its topic may be mistyped in the tree, and mended at any time."""
    known = {2, 3, 4}

    async def answering(_: ReplicaManager, numbers: list[int]) -> Rows:
        unknown = ErrorCode.UNKNOWN_TOPIC_ID
        rows = [
            accepted(it) if it in known else ResponsePartitionData(it, unknown) for it in numbers
        ]
        known.update({0, 1} if 4 in numbers else ())
        return rows

    t = Scene(monkeypatch, answering)
    led = t.run(seconds=1.5)
    assert t.asked == [[0, 1], [2, 3], [4], [0, 1]]
    assert all(it.leader.isr.committed == {ME, OTHER} for it in led)


def test_what_was_put_off_takes_the_place_of_no_later_leadership(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The controller knows the partition again, and its answers are late."""

    def lead_again(replicas: ReplicaManager) -> None:
        replicas.change_roles([state(1, epoch=1)], RoleChanges())
        follow(replicas, LeaderEpoch(1))

    async def answering(replicas: ReplicaManager, numbers: list[int]) -> Rows:
        if numbers == [0, 1]:
            asyncio.get_running_loop().call_later(0.2, lead_again, replicas)
            return [accepted(0), ResponsePartitionData(1, ErrorCode.UNKNOWN_TOPIC_ID)]
        if len(t.asked) < 30:  # for longer than what was put off is put off
            return [accepted(it) for it in numbers if it != 1]
        return [accepted(it, epoch=1) for it in numbers]

    t = Scene(monkeypatch, answering)
    led = {it.partition.partition: it for it in t.run(seconds=4)}
    assert led[1].leader_epoch == 1
    assert led[1].leader.isr.committed == {ME, OTHER}


def test_what_is_refused_for_a_while_is_told_once_for_each_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is asked twenty times a second; a line a minute says how often, a new reason at once."""
    reasons = [ErrorCode.UNKNOWN_SERVER_ERROR] * 30 + [ErrorCode.REQUEST_TIMED_OUT] * 30

    async def answering(_: ReplicaManager, numbers: list[int]) -> Rows:
        code = reasons.pop() if reasons else ErrorCode.UNKNOWN_SERVER_ERROR
        return [ResponsePartitionData(it, code) for it in numbers]

    monkeypatch.setattr(repeated_failures, "PAUSE", 10_000)
    t = Scene(monkeypatch, answering)
    t.run(seconds=12)
    lines = [it for it in t.written if it["event"] == "isr.change_refused"]
    named = Counter((it["partition"], it["error"]) for it in lines if "left_out" not in it)
    assert named.keys() >= {
        (f"orders-{it}", error)
        for it in range(PARTITIONS)
        for error in ("UNKNOWN_SERVER_ERROR", "REQUEST_TIMED_OUT")
    }
    assert set(named.values()) == {1}
    assert len(t.asked) > 200
    again = [it["left_out"] for it in lines if "left_out" in it]
    assert len(again) == PARTITIONS
    assert min(again) > 50

"""Brokers refuse what comes from the past, each number by its own error, and nothing changes."""

from typing import Any

from odradek.metadata.znodes.topic import PartitionStateZnode
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId, TopicPartition
from odradek.peers.control_message import ControlRequest
from odradek.sim.scenarios.cluster import ClusterScenario
from odradek.sim.stage.broker_machine import PORT, BrokerMachine, name_of
from odradek.sim.stage.clients import Client
from odradek.sim.stage.zookeeper_machine import ZOOKEEPER
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest
from odradek.wire.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
)
from odradek.wire.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from odradek.wire.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from odradek.wire.messages.update_metadata import UpdateMetadataRequest
from odradek.wire.schema import Request

CONTROL: list[tuple[type[ControlRequest], int]] = [
    (LeaderAndIsrRequest, 7),
    (StopReplicaRequest, 4),
    (UpdateMetadataRequest, 8),
]
LONG_AGO, NO_LIFE = 0, -1


def asked(client: Client, broker: int, request: Request, version: int) -> Any:
    """What a broker answers."""
    connection = client.does(client.cluster.broker(BrokerId(broker)))
    return client.does(connection.ask(request, version))


def broker_epoch(t: ClusterScenario, number: int) -> int:
    """Of the life that this broker is in."""
    process = t.broker(number).process.broker
    assert process is not None
    return int(process.cluster.broker_epoch)


def test_a_controller_that_was_replaced_changes_nothing(t: ClusterScenario) -> None:
    """By its epoch, and by the epoch of the broker's life that it knew."""
    shop = t.client("shop")
    shop.make("orders")
    before = t.state("orders")
    for kind, version in CONTROL:
        request: Any = kind(
            controller_id=9, controller_epoch=LONG_AGO, broker_epoch=broker_epoch(t, 1)
        )
        assert asked(shop, 1, request, version).error_code == ErrorCode.STALE_CONTROLLER_EPOCH
        request.controller_epoch, request.broker_epoch = t.epoch(), LONG_AGO
        assert asked(shop, 1, request, version).error_code == ErrorCode.STALE_BROKER_EPOCH
    shop.produce("orders", "a")
    assert t.state("orders") == before


def test_what_is_meant_for_another_broker_is_refused(t: ClusterScenario) -> None:
    """Its address leads here by mistake, and the requests name no broker but by its epoch."""
    shop = t.client("shop")
    shop.make("orders")
    earliest, *_, latest = sorted((1, 2, 3), key=lambda it: broker_epoch(t, it))
    for kind, version in CONTROL:
        request: Any = kind(
            controller_id=9, controller_epoch=t.epoch(), broker_epoch=broker_epoch(t, latest)
        )
        assert asked(shop, earliest, request, version).error_code == ErrorCode.STALE_BROKER_EPOCH
    process = t.broker(earliest).process.broker
    assert process is not None
    assert process.cluster.has_roles


def test_a_controller_whose_session_is_over_answers_as_one_no_more(t: ClusterScenario) -> None:
    """What it remembers is old, though it can register no more: another process has its number.

    It does not reach that process, and waits for its end; else it would end itself at once. It had
    nothing under way when its session ended: ZooKeeper would have refused that, and so ended its
    time as the controller, too.
    """
    past, operator = t.controller() or 0, t.operator()
    t.run(seconds=2)
    t.cut(past, ZOOKEEPER)
    t.cut(ZOOKEEPER, past)
    t.wait_until(lambda: t.controller() not in {None, past}, "another is elected")
    twin = BrokerMachine(t.world, t.settings, number=past, name="twin")
    twin.start()
    t.wait_until(lambda: twin.serves, "the other process serves")
    t.heal()
    t.cut(past, "twin")
    t.run(seconds=4)
    assert t.broker(past).process.serves
    connection = operator.does(operator.cluster.connection((name_of(past), PORT)))
    answer = operator.does(connection.ask(ListPartitionReassignmentsRequest(), 0))
    assert answer.error_code == ErrorCode.NOT_CONTROLLER
    assert t.acts() == [t.controller()]


def test_a_leadership_that_is_told_late_changes_nothing(t: ClusterScenario) -> None:
    """The controller is the present one; the next leader epoch was told before."""
    shop = t.client("shop")
    shop.make("orders")
    past = t.state("orders")
    assert past.leader is not None
    t.broker(past.leader).kill()
    leader = t.await_new_leader("orders", past.leader)
    shop.produce("orders", "a")
    log, present = t.broker(leader).log("orders"), t.state("orders")
    assert log is not None
    state = LeaderAndIsrPartitionState(
        controller_epoch=past.controller_epoch,
        leader=past.leader,
        leader_epoch=past.leader_epoch,
        isr=past.isr,
        partition_epoch=past.partition_epoch,
        replicas=past.isr,
    )
    request = LeaderAndIsrRequest(
        controller_id=t.controller() or 0,
        controller_epoch=t.epoch(),
        broker_epoch=broker_epoch(t, leader),
        topic_states=[LeaderAndIsrTopicState("orders", log.topic_id, [state])],
    )
    (topic,) = asked(shop, leader, request, 7).topics
    (answer,) = topic.partition_errors
    assert answer.error_code == ErrorCode.STALE_CONTROLLER_EPOCH
    shop.produce("orders", "b")
    assert t.state("orders") == present


def test_a_state_that_another_has_written_is_read_before_it_is_replaced(
    t: ClusterScenario,
) -> None:
    """Leaders before Kafka 2.7 write their ISR themselves: who was left out there does not lead."""
    controller = t.controller()
    assert controller is not None
    leader, left_out = (broker.number for broker in t.others(controller))
    t.operator().places("orders", (leader, left_out, controller))
    before = t.state("orders")
    smaller = before._replace(isr=(BrokerId(leader), BrokerId(controller)))
    path = PartitionStateZnode.path(TopicPartition("orders", 0))
    t.put(path, PartitionStateZnode.encode(smaller))
    t.broker(leader).kill()
    assert t.await_new_leader("orders", leader) == controller
    assert t.state("orders").leader_epoch == before.leader_epoch + 1


def test_a_leader_hears_of_a_state_that_another_has_written(t: ClusterScenario) -> None:
    """Its proposal names the version before, and is refused: it would never propose another."""
    controller, shop = t.controller(), t.client("shop")
    assert controller is not None
    leader, follower = (broker.number for broker in t.others(controller))
    t.operator().places("orders", (leader, follower, controller))
    shop.produce("orders", "a")
    path = PartitionStateZnode.path(TopicPartition("orders", 0))
    t.put(path, PartitionStateZnode.encode(t.state("orders")))
    t.cut(leader, follower)
    t.cut(follower, leader)
    writing = shop.begins(shop.producing("orders", "b"))
    t.run(10)
    assert {*t.state("orders").isr} == {leader, controller}
    shop.ends(writing)
    t.heal()
    t.await_isr("orders", 1, 2, 3)
    assert shop.read("orders") == ["a", "b"]


def test_a_broker_of_an_earlier_life_is_refused_by_the_controller(t: ClusterScenario) -> None:
    """It may not stop, take producer ids or change an ISR in the name of the present one."""
    shop = t.client("shop")
    shop.make("orders")
    controller = t.controller()
    assert controller is not None
    requests: list[tuple[Request, int]] = [
        (ControlledShutdownRequest(1, LONG_AGO), 3),
        (AllocateProducerIdsRequest(1, LONG_AGO), 0),
        (AlterPartitionRequest(1, LONG_AGO), 3),
    ]
    for request, version in requests:
        answer = asked(shop, controller, request, version)
        assert answer.error_code == ErrorCode.STALE_BROKER_EPOCH, request
    for other in t.others(controller):
        answer = asked(shop, other.number, *requests[2])
        assert answer.error_code == ErrorCode.NOT_CONTROLLER


def test_an_isr_is_changed_by_its_leader_alone_and_in_its_epochs(t: ClusterScenario) -> None:
    """Each of the controller's checks has its error, and the state stays."""
    shop = t.client("shop")
    shop.make("orders")
    state, controller = t.state("orders"), t.controller()
    leader, follower = t.leader("orders"), t.followers("orders")[0]
    assert controller is not None
    log = t.broker(leader).log("orders")
    assert log is not None

    def proposed(sender: int, members: list[int], **other: int) -> ErrorCode:
        isr = [BrokerState(it, NO_LIFE) for it in members]
        row = RequestPartitionData(
            partition_index=0,
            leader_epoch=other.get("leader_epoch", state.leader_epoch),
            new_isr_with_epochs=isr,
            partition_epoch=other.get("partition_epoch", state.partition_epoch),
        )
        topic = RequestTopicData(topic_id=log.topic_id, partitions=[row])
        request = AlterPartitionRequest(sender, broker_epoch(t, sender), [topic])
        (((answer,),),) = [[it.partitions for it in asked(shop, controller, request, 3).topics]]
        return ErrorCode(answer.error_code)

    smaller = [leader, follower]
    assert proposed(follower, smaller) is ErrorCode.INVALID_REQUEST
    assert proposed(leader, [follower]) is ErrorCode.INVALID_REQUEST
    assert proposed(leader, [*smaller, 9]) is ErrorCode.INVALID_REQUEST
    assert proposed(leader, smaller, leader_epoch=-1) is ErrorCode.FENCED_LEADER_EPOCH
    older = state.partition_epoch - 1
    assert proposed(leader, smaller, partition_epoch=older) is ErrorCode.INVALID_UPDATE_VERSION
    assert t.state("orders") == state


def test_kip_320_a_reader_of_another_leader_epoch_is_refused(t: ClusterScenario) -> None:
    """An older one has missed an election; a newer one knows of one that this leader has not."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    old = t.leader("orders")
    t.broker(old).kill()
    leader = t.await_new_leader("orders", old)
    shop.produce("orders", "b")
    epoch = t.state("orders").leader_epoch
    for asked_epoch, error in (
        (epoch - 1, ErrorCode.FENCED_LEADER_EPOCH),
        (epoch + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        row = FetchPartition(0, asked_epoch, 0, -1, -1, 1 << 20)
        request = FetchRequest(
            max_bytes=1 << 20,
            topics=[FetchTopic(topic="orders", partitions=[row])],
            session_epoch=-1,
        )
        (((fetched,),),) = [[it.partitions for it in asked(shop, leader, request, 12).responses]]
        assert fetched.error_code == error
        end = OffsetForLeaderPartition(0, asked_epoch, 0)
        question = OffsetForLeaderEpochRequest(-1, [OffsetForLeaderTopic("orders", [end])])
        (((told,),),) = [[it.partitions for it in asked(shop, leader, question, 4).topics]]
        assert told.error_code == error


def test_kip_570_a_word_to_stop_that_was_overtaken_deletes_nothing(t: ClusterScenario) -> None:
    """It names an older leader epoch than the replica has; one of the present epoch is obeyed."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    t.broker(t.leader("orders")).kill()
    t.wait_until(lambda: len(t.state("orders").isr) == 2, "another leads")
    (follower,), epoch = t.followers("orders"), t.state("orders").leader_epoch
    t.wait_until(lambda: t.broker(follower).high_watermark("orders") == 1, "it follows")

    def stopped(leader_epoch: int) -> ErrorCode:
        row = StopReplicaPartitionState(0, leader_epoch, delete_partition=True)
        request = StopReplicaRequest(
            controller_id=t.controller() or 0,
            controller_epoch=t.epoch(),
            broker_epoch=broker_epoch(t, follower),
            topic_states=[StopReplicaTopicState("orders", [row])],
        )
        (answer,) = asked(shop, follower, request, 4).partition_errors
        return ErrorCode(answer.error_code)

    assert stopped(epoch - 1) is ErrorCode.FENCED_LEADER_EPOCH
    assert t.broker(follower).log_end("orders") == 1
    assert stopped(epoch) is ErrorCode.NONE
    assert t.broker(follower).log_end("orders") == -1


def test_kip_841_a_broker_that_shuts_down_joins_no_isr(t: ClusterScenario) -> None:
    """It fetches to the end still, and would be in the way of every acknowledgement once gone."""
    shop = t.client("shop")
    shop.make("orders")
    shop.produce("orders", "a")
    controller = t.controller()
    assert controller is not None
    going = next(it for it in t.followers("orders") if it != controller)
    leaving = ControlledShutdownRequest(going, broker_epoch(t, going))
    assert asked(shop, controller, leaving, 3).error_code == ErrorCode.NONE
    stay = set(t.brokers) - {going}
    t.await_isr("orders", *stay)
    shop.produce("orders", "b")
    t.run(seconds=8)
    assert set(t.state("orders").isr) == stay
    t.broker(going).kill()
    t.broker(going).start()
    t.await_isr("orders", 1, 2, 3)


def test_kip_903_a_member_of_an_earlier_life_joins_no_isr(t: ClusterScenario) -> None:
    """The leader saw it catch up; since then it has been away, and may have lost what it had."""
    shop, controller = t.operator(), t.controller()
    assert controller is not None
    leader, away = (it.number for it in t.others(controller))
    shop.places("orders", (leader, away, controller))
    shop.produce("orders", "a")
    before = broker_epoch(t, away)
    t.broker(away).kill()
    stay = sorted(set(t.brokers) - {away})
    t.await_isr("orders", *stay)
    t.cut(leader, away)
    t.cut(away, leader)
    t.broker(away).start()
    state = t.state("orders")
    log = t.broker(leader).log("orders")
    assert log is not None
    lives = {it: broker_epoch(t, it) for it in stay} | {away: before}
    row = RequestPartitionData(
        leader_epoch=state.leader_epoch,
        new_isr_with_epochs=[BrokerState(it, life) for it, life in lives.items()],
        partition_epoch=state.partition_epoch,
    )
    topics = [RequestTopicData(topic_id=log.topic_id, partitions=[row])]
    request = AlterPartitionRequest(leader, broker_epoch(t, leader), topics)
    (((answer,),),) = [[it.partitions for it in asked(shop, controller, request, 3).topics]]
    assert answer.error_code == ErrorCode.INELIGIBLE_REPLICA
    assert t.state("orders") == state
    t.heal()
    t.await_isr("orders", 1, 2, 3)

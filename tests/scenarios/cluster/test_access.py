"""Access rules in a cluster: who changes them, who hears of it, and who is believed."""

from collections.abc import Sequence
from typing import Any, Final

from odradek.access.decisions import Caller
from odradek.access.filters import Filter
from odradek.client.admin import access_rules
from odradek.client.admin.access_rules import AccessRule
from odradek.metadata.znodes.acls import AclsChangeZnode, AclsZnode
from odradek.model.access import Effect, Operation, ResourceType, Rule
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.sim.scenarios.cluster import ClusterScenario, staged
from odradek.sim.stage.users import ROOT, User, listeners, settings_with_users
from odradek.wire.messages.controlled_shutdown import ControlledShutdownRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.leader_and_isr import LeaderAndIsrRequest
from odradek.wire.messages.odradek_admin import OdradekAdminRequest
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.stop_replica import StopReplicaRequest
from odradek.wire.schema import Request
from tests.scenarios.cluster.users import (
    about,
    allowed,
    brokers_know,
    code_of,
    read_code,
)

users = staged(settings=settings_with_users("alice", "bob"), own=listeners(3))
ORDERS: Final = about(ResourceType.TOPIC, "orders")
REFUSED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def stage(t: ClusterScenario) -> tuple[User, User]:
    """The operator, who has made a topic, and alice, who may read and write it."""
    root, alice = User(t.world, ROOT, [1, 2, 3]), User(t.world, "alice", [1, 2, 3])
    root.make("orders", replicas=3)
    both = [allowed("alice", ORDERS, it) for it in (Operation.READ, Operation.WRITE)]
    root.allows(*both)
    t.wait_until(lambda: brokers_know(t, *both), "all brokers know both rules")
    alice.produce("orders", "a")
    return root, alice


@users
def test_two_administrators_change_the_rules_of_one_resource(t: ClusterScenario) -> None:
    """By two brokers at once, again and again: none of their rules is lost."""
    root, other = User(t.world, ROOT, [1]), User(t.world, ROOT, [2], "other")
    root.make("orders", replicas=3)
    names = [f"user-{number}" for number in range(8)]
    wanted = [allowed(name, ORDERS, Operation.READ) for name in names]

    async def add(user: User, broker: int, rules: Sequence[AccessRule]) -> None:
        connection = await user.cluster.broker(BrokerId(broker))
        for rule in rules:
            request = access_rules.creation([rule])
            answer = await connection.ask(request)
            assert not answer.results[0].error_code, answer

    begun = [(root, root.begins(add(root, 1, wanted[::2])))]
    begun += [(other, other.begins(add(other, 2, wanted[1::2])))]
    for who, work in begun:
        who.ends(work)
    rules = AclsZnode.decode(ORDERS, t.data(AclsZnode.path(ORDERS)))
    assert rules == {it.rule for it in wanted}
    t.wait_until(lambda: brokers_know(t, *wanted), "all brokers know them")


@users
def test_a_right_is_taken_away_by_another_broker(t: ClusterScenario) -> None:
    """Decisions that are cached and a fetch that waits: nothing is answered once a broker knows."""
    root, alice = stage(t)
    assert alice.read("orders") == ["a"]
    leader = t.leader("orders")
    wanted = [FetchTopic("orders", partitions=[FetchPartition(0, fetch_offset=1)])]

    async def wait() -> Any:
        connection = await alice.cluster.broker(BrokerId(leader))
        request = FetchRequest(session_epoch=0, topics=wanted, min_bytes=1, max_wait_ms=20_000)
        return await connection.ask(request, 12)

    waiting = alice.begins(wait())
    t.run(0.2)
    elsewhere = next(it for it in (1, 2, 3) if it != leader)
    gone = root.does(access_rules.delete(root.cluster, [Filter(principal="User:alice")]))
    assert len(gone) == 2, elsewhere
    t.wait_until(lambda: not brokers_know(t, gone[0]), "all brokers have forgotten them")
    root.produce("orders", "b")
    answer = alice.ends(waiting)
    row = answer.responses[0].partitions[0]
    assert row.error_code == REFUSED
    assert not row.records
    assert read_code(alice, leader, "orders") is REFUSED
    assert alice.refusal_of(alice.producing("orders", "c")) is REFUSED
    assert root.read("orders") == ["a", "b"]


@users
def test_a_right_is_taken_away_while_a_produce_waits(t: ClusterScenario) -> None:
    """For its followers: its records were appended with the right, and are acknowledged."""
    root, alice = stage(t)
    leader = t.leader("orders")
    followers = [it for it in (1, 2, 3) if it != leader]
    for follower in followers:
        t.cut(follower, leader)
    waiting = alice.begins(alice.producing("orders", "b"))
    t.run(0.2)
    assert not waiting.done()
    rule = allowed("alice", ORDERS, Operation.WRITE)
    removing = root.begins(access_rules.delete(root.cluster, [Filter(principal="User:alice")]))
    known = t.broker(leader).process.broker
    assert known is not None
    rules = known.services_of_this_life.rules
    assert rules is not None
    t.wait_until(lambda: rule.rule not in rules.decisions.book.of(ORDERS), "the leader knows")
    assert not waiting.done()
    t.heal()
    root.ends(removing)
    assert alice.ends(waiting) == 1
    assert alice.refusal_of(alice.producing("orders", "c")) is REFUSED
    assert root.read("orders") == ["a", "b"]


@users
def test_a_broker_without_zookeeper_goes_on_with_what_it_knew(t: ClusterScenario) -> None:
    """The rules that it read last hold; what has changed meanwhile counts once it is back."""
    root, alice = stage(t)
    bob = User(t.world, "bob", [1, 2, 3])
    leader = t.leader("orders")
    controller = t.controller()
    t.cut(leader, "zookeeper")
    t.cut("zookeeper", leader)
    t.run(1)
    assert read_code(alice, leader, "orders") is ErrorCode.NONE
    assert read_code(bob, leader, "orders") is REFUSED
    if controller != leader:
        root.does(access_rules.delete(root.cluster, [Filter(principal="User:alice")]))
    t.heal()
    if controller != leader:
        t.wait_until(
            lambda: read_code(alice, leader, "orders") is not ErrorCode.NONE, "it has heard of it"
        )
    assert read_code(bob, leader, "orders") is not ErrorCode.NONE


@users
def test_a_znode_of_rules_that_cannot_be_read_grants_nothing_new(t: ClusterScenario) -> None:
    """What was known holds on; a broker that begins now knows nothing, and grants nothing."""
    _, alice = stage(t)
    bob = User(t.world, "bob", [1, 2, 3])
    leader = t.leader("orders")
    t.put(AclsZnode.path(ORDERS), b"{")
    t.put(f"{AclsChangeZnode.LITERAL}/acl_changes_0000009999", AclsChangeZnode.encode(ORDERS))
    t.run(2)
    assert read_code(alice, leader, "orders") is ErrorCode.NONE
    assert read_code(bob, leader, "orders") is REFUSED
    t.broker(leader).stop()
    t.broker(leader).start()
    t.run(2)
    leads = t.leader("orders")
    expected = REFUSED if leads == leader else ErrorCode.NONE
    assert read_code(alice, leads, "orders") is expected
    assert read_code(bob, leads, "orders") is REFUSED
    rules = t.broker(leader).process.broker
    assert rules is not None
    known = rules.services_of_this_life.rules
    assert known is not None
    alice_there = Caller("User:alice", "10.0.0.1")
    assert not known.decisions.answers(alice_there, Operation.READ, ResourceType.TOPIC)["orders"]


@users
def test_what_only_brokers_may_say_is_not_believed_of_others(t: ClusterScenario) -> None:
    """Forged followers, control requests, requests as if forwarded; groups of others."""
    root, alice = stage(t)
    leader = t.leader("orders")
    everything = allowed("alice", about(ResourceType.TOPIC, "*"), Operation.ALL)
    root.allows(everything)
    t.wait_until(lambda: brokers_know(t, everything), "all know it")
    wanted = [FetchTopic("orders", partitions=[FetchPartition(0)])]
    commit = [OffsetCommitRequestPartition(0)]
    commits = [OffsetCommitRequestTopic("orders", partitions=commit)]
    state = t.state("orders")
    forged: list[tuple[Request, int]] = [
        (FetchRequest(replica_id=2, topics=wanted, max_wait_ms=0), 12),
        (LeaderAndIsrRequest(1, controller_epoch=1_000), 7),
        (StopReplicaRequest(1, controller_epoch=1_000), 4),
        (ControlledShutdownRequest(leader), 3),
        (OdradekAdminRequest("controller.describe", 4, "kafka-cluster", None, 0, 2), 0),
        (OdradekAdminRequest("controller.move", 4, "kafka-cluster", "{}"), 0),
        (HeartbeatRequest("readers"), 4),
        (OffsetCommitRequest("readers", topics=commits), 8),
    ]
    for request, version in forged:
        found = code_of(alice, leader, request, version)
        assert found.name.endswith("_AUTHORIZATION_FAILED"), (type(request).__name__, found)
    assert t.state("orders") == state
    alice.produce("orders", "b")


@users
def test_super_users_need_no_rule(t: ClusterScenario) -> None:
    """Also where a rule denies them."""
    root, _ = stage(t)
    denied = AccessRule(ORDERS, Rule("User:root", "*", Operation.ALL, Effect.DENY))
    root.allows(denied)
    t.wait_until(lambda: brokers_know(t, denied), "all know it")
    assert root.read("orders") == ["a"]


open_to_all = staged(
    settings={**settings_with_users("alice", "bob"), "allow.everyone.if.no.acl.found": "true"},
    own=listeners(3),
)


@open_to_all
def test_what_no_rule_is_about_may_be_open(t: ClusterScenario) -> None:
    """Until there is one, for whomever."""
    root, bob = User(t.world, ROOT, [1, 2, 3]), User(t.world, "bob", [1, 2, 3])
    root.make("orders", replicas=3)
    bob.produce("orders", "a")
    rule = allowed("alice", ORDERS, Operation.READ)
    root.allows(rule)
    t.wait_until(lambda: brokers_know(t, rule), "all know it")
    assert read_code(bob, t.leader("orders"), "orders") is REFUSED

"""The audit log: who was refused what, whose login failed, who changed something."""

import json
from typing import Any

import pytest

from odradek.broker.access.repeats import EACH_MAX
from odradek.broker.slices import ROWS_IN_A_SLICE, Slices
from odradek.model.access import Effect, Operation, PatternType, ResourceType
from odradek.model.errors import ErrorCode
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.security.mechanisms.scram import SHA_256
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.odradek_admin import OdradekAdminRequest
from odradek.wire.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.wire.messages.sasl_handshake import SaslHandshakeRequest
from odradek.wire.schema import Request
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.test_long_refusals import copied

ALICE_READS = AclCreation(
    ResourceType.TOPIC,
    "orders",
    PatternType.LITERAL,
    "User:alice",
    "*",
    Operation.READ,
    Effect.ALLOW,
)
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SECRET = "alice-secret"
SETTINGS: dict[str, Any] = {
    "audit_log": "audit.log",
    "authorizer_class_name": "kafka.security.authorizer.AclAuthorizer",
    "super_users": "User:root;User:ANONYMOUS",
    "listeners": "NAMED://broker:9092,PLAINTEXT://broker:9093",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,NAMED:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "listener.name.named.plain.sasl.jaas.config": (
        f'{PLAIN} required user_alice="{SECRET}" user_root="root-secret";'
    ),
    "listener.name.named.connections.max.reauth.ms": "60000",
}


class Audited(Stage):
    """A broker with users and an audit log; root may do everything."""

    def __init__(self, **settings: str) -> None:
        super().__init__(1, **{**SETTINGS, **settings})

    def user(self, name: str, password: str = "") -> Client:
        """Whose login succeeds by default."""
        client = self.client(f"{name}-1")
        client.ask(SaslHandshakeRequest("PLAIN"), 1)
        token = f"\0{name}\0{password or name + '-secret'}".encode()
        client.ask(SaslAuthenticateRequest(token), 1)
        return client

    def told(self) -> list[dict[str, Any]]:
        """All lines so far."""
        return [json.loads(it) for it in self.lines.kept]

    def brief(self) -> list[tuple[str | None, ...]]:
        """Who, what, about what, and what came of it."""
        names = ("event", "principal", "api", "resource", "outcome")
        return [tuple(it.get(name) for name in names) for it in self.told()]


def test_refused_requests_are_written_with_who_what_and_where() -> None:
    """One line for each resource, whatever form the refusal has."""
    with Audited() as stage:
        root = stage.user("root")
        root.ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 3, 1)]))
        alice = stage.user("alice")
        stage.lines.kept.clear()
        alice.produce("orders", "a record")
        alice.fetch("orders", 0)
        alice.ask(HeartbeatRequest("payments", 1, "member"))
        alice.ask(CreateTopicsRequest(topics=[CreatableTopic("mine", 1, 1)]))
        assert stage.brief() == [
            ("request", "User:alice", "Produce", "orders", "refused"),
            ("request", "User:alice", "Fetch", "orders", "refused"),
            ("request", "User:alice", "Heartbeat", "payments", "refused"),
            ("request", "User:alice", "CreateTopics", "mine", "refused"),
        ]
        first, *_ = stage.told()
        host, _, port = first.pop("address").rpartition(":")
        assert (host, port.isdecimal()) == ("10.0.0.2", True)
        assert first.pop("time").endswith("+00:00")
        assert first == {
            "broker": 1,
            "event": "request",
            "principal": "User:alice",
            "listener": "NAMED",
            "client_id": "alice-1",
            "api": "Produce",
            "resource_type": "TOPIC",
            "resource": "orders",
            "outcome": "refused",
            "code": "TOPIC_AUTHORIZATION_FAILED",
        }


def test_a_producer_that_reads_no_answer_is_written_too() -> None:
    """With acks=0 the refusal is the end of the connection."""
    with Audited() as stage:
        alice = stage.user("alice")
        stage.lines.kept.clear()
        data = [PartitionProduceData(0, build_batch([Record(0, 1, None, b"a record")]))]
        alice.send(
            ProduceRequest(None, 0, 30_000, [TopicProduceData("orders", partition_data=data)]), 9
        )
        stage.run(seconds=1)
        assert alice.is_closed
        assert stage.brief() == [("request", "User:alice", "Produce", "orders", "refused")]


def test_a_request_that_is_refused_in_part_is_written_for_that_part() -> None:
    """The rest is served, and is no line."""
    with Audited() as stage:
        root = stage.user("root")
        root.ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)]))
        writes = AclCreation(2, "orders", PatternType.LITERAL, "User:alice", "*", Operation.WRITE)
        writes.permission_type = Effect.ALLOW
        root.ask(CreateAclsRequest([writes]))
        alice = stage.user("alice")
        stage.lines.kept.clear()
        batch = build_batch([Record(0, 1_700_000_000_000, None, b"a record")])
        data = [PartitionProduceData(0, batch)]
        topics = [TopicProduceData(it, partition_data=data) for it in ("orders", "secret")]
        answer = alice.ask(ProduceRequest(None, -1, 30_000, topics), 9)
        codes = {it.name: it.partition_responses[0].error_code for it in answer.responses}
        assert codes == {"orders": ErrorCode.NONE, "secret": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
        assert stage.brief() == [("request", "User:alice", "Produce", "secret", "refused")]


def test_what_is_left_out_of_a_list_is_no_refusal() -> None:
    """Nobody asked for it by its name."""
    with Audited() as stage:
        stage.user("root").ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)]))
        alice = stage.user("alice")
        stage.lines.kept.clear()
        assert not alice.ask(MetadataRequest(topics=None)).topics
        assert not stage.lines.kept


def test_failed_logins_are_written() -> None:
    """At the first login, and when a name is to be proven again."""
    with Audited() as stage:
        stage.user("alice", "wrong")
        alice = stage.user("alice")
        alice.ask(SaslHandshakeRequest("PLAIN"), 1)
        alice.ask(SaslAuthenticateRequest(b"\0alice\0wrong-too"), 1)
        first, second = stage.told()
        assert (first["event"], first["principal"], first["outcome"]) == ("login", None, "refused")
        assert (second["principal"], second["outcome"]) == ("User:alice", "refused")
        assert first["reason"]
        assert second["reason"]
        again = stage.user("alice")
        again.ask(SaslHandshakeRequest("GSSAPI"), 1)
        third = stage.told()[2]
        assert (third["event"], third["principal"]) == ("login", "User:alice")
        assert (third["outcome"], third["reason"]) == ("refused", "SaslHandshake for GSSAPI")


def test_a_fetch_session_is_its_principals_alone() -> None:
    """Its number can be guessed: nobody else learns the names in it, moves it on or ends it."""
    with Audited() as stage:
        root = stage.user("root")
        root.ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)]))
        wanted = [FetchTopic("orders", partitions=[FetchPartition(0, fetch_offset=0)])]
        number = root.ask(FetchRequest(session_epoch=0, topics=wanted, max_wait_ms=0)).session_id
        alice = stage.user("alice")
        for epoch, code in (
            (1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
            (7, ErrorCode.FETCH_SESSION_ID_NOT_FOUND),
            (0, ErrorCode.NONE),
            (-1, ErrorCode.NONE),
        ):
            asked = FetchRequest(session_id=number, session_epoch=epoch, topics=[], max_wait_ms=0)
            answer = alice.ask(asked)
            assert (answer.error_code, answer.responses) == (code, []), epoch
        later = stage.user("root")  # another connection of the same client
        next_one = FetchRequest(session_id=number, session_epoch=1, topics=[], max_wait_ms=0)
        assert later.ask(next_one).session_id == number


def test_a_client_that_is_refused_again_and_again_fills_no_disk() -> None:
    """A hundred lines a minute; the rest is a count, and others are told of as ever."""
    with Audited() as stage:
        for _ in range(EACH_MAX + 20):
            stage.user("alice", "wrong").hang_up()
        assert len(stage.told()) == EACH_MAX
        alice = stage.user("alice")
        for _ in range(EACH_MAX + 5):
            alice.ask(HeartbeatRequest("payments", 1, "member"))
        assert len(stage.told()) == 2 * EACH_MAX
        stage.run(seconds=61)
        logins, requests = stage.told()[2 * EACH_MAX :]
        assert (logins["event"], logins["principal"], logins["left_out"]) == ("login", None, 20)
        assert (requests["event"], requests["principal"]) == ("request", "User:alice")
        assert (requests["outcome"], requests["left_out"]) == ("refused", 5)
        stage.user("alice").ask(HeartbeatRequest("payments", 1, "member"))
        assert "left_out" not in stage.told()[-1]


def test_what_was_left_out_is_said_at_the_end() -> None:
    """A broker that stops within the minute."""
    with Audited() as stage:
        alice = stage.user("alice")
        for _ in range(EACH_MAX + 5):
            alice.ask(HeartbeatRequest("payments", 1, "member"))
        stage.stop()
    assert stage.told()[-1]["left_out"] == 5


def test_changes_are_never_left_out() -> None:
    """Who makes them has the right to."""
    with Audited() as stage:
        root = stage.user("root")
        for number in range(EACH_MAX + 5):
            it = (ResourceType.TOPIC, f"orders-{number}", PatternType.LITERAL, "User:alice", "*")
            root.ask(CreateAclsRequest([AclCreation(*it, Operation.READ, Effect.ALLOW)]))
        assert len(stage.told()) == EACH_MAX + 5


NOTHING_SUCH = 99


@pytest.mark.parametrize(
    "request_",
    [
        IncrementalAlterConfigsRequest([AlterConfigsResource(NOTHING_SUCH, "orders")]),
        DeleteTopicsRequest([DeleteTopicState(None, bytes(range(16)))], timeout_ms=30_000),
        OdradekAdminRequest("nothing.such", 100, "1", "{}"),
    ],
    ids=lambda it: type(it).__name__,
)
def test_changes_that_fail_fill_no_disk(request_: Request) -> None:
    """Whoever is connected can ask for what does not exist, also without a right."""
    with Audited() as stage:
        alice = stage.user("alice")
        for _ in range(EACH_MAX + 5):
            alice.ask(request_)
        assert len(stage.told()) == EACH_MAX
        stage.run(seconds=61)
        last = stage.told()[-1]
        assert (last["event"], last["principal"]) == ("change", "User:alice")
        assert (last["outcome"], last["left_out"]) == ("failed", 5)


@pytest.mark.parametrize(
    "request_",
    [
        CreateTopicsRequest(),
        DeleteTopicsRequest(),
        CreatePartitionsRequest(),
        IncrementalAlterConfigsRequest(),
    ],
    ids=lambda it: type(it).__name__,
)
def test_a_change_of_nothing_is_no_line(request_: Request) -> None:
    """It is served to everybody, for it needs no right: who has none could fill a disk with it."""
    with Audited() as stage:
        stage.user("alice").ask(request_)
        assert stage.told() == []


ROWS = 10_000


@pytest.mark.parametrize(
    "request_",
    [
        DeleteGroupsRequest([f"group-{number}" for number in range(ROWS)]),
        ProduceRequest(
            acks=-1,
            topic_data=[
                TopicProduceData(
                    "nowhere", partition_data=[PartitionProduceData(it, b"") for it in range(ROWS)]
                )
            ],
        ),
        ProduceRequest(acks=-1, topic_data=[TopicProduceData(f"t{it}") for it in range(ROWS)]),
        CreateAclsRequest([ALICE_READS] * ROWS),
    ],
    ids=("many names", "one name", "no code", "rules"),
)
def test_a_large_answer_is_written_in_many_turns(
    monkeypatch: pytest.MonkeyPatch, request_: Request
) -> None:
    """Who names ten thousand topics without a right holds up nobody else."""
    turns: list[int] = []
    go_on = Slices._go_on

    def count(slices: Slices) -> None:
        turns.append(1)
        go_on(slices)

    def turns_of(stage: Stage) -> int:
        turns.clear()
        stage.client().ask(copied(request_))
        return len(turns)

    monkeypatch.setattr(Slices, "_go_on", count)
    with Stage(1) as stage:
        unwritten = turns_of(stage)
    with Stage(1, audit_log="audit.log") as stage:
        assert turns_of(stage) >= unwritten + ROWS // ROWS_IN_A_SLICE - 1


def test_a_long_name_is_cut() -> None:
    """A group may have a name of 32 KiB."""
    with Audited() as stage:
        stage.user("alice").ask(HeartbeatRequest("p" * 30_000, 1, "member"))
        assert stage.told()[-1]["resource"] == "p" * 500 + "..."


def test_a_long_principal_is_cut() -> None:
    """The `sub` of a token may have 40 KB; lines and counts have its beginning."""
    name = "u" * 30_000
    module = f'{PLAIN} required user_{name}="{SECRET}" user_root="root-secret";'
    with Audited(**{"listener.name.named.plain.sasl.jaas.config": module}) as stage:
        client = stage.user(name, SECRET)
        for _ in range(EACH_MAX + 5):
            client.ask(HeartbeatRequest("payments", 1, "member"))
        stage.run(seconds=61)
        told = stage.told()
        assert {it["principal"] for it in told} == {("User:" + name)[:500] + "..."}
        assert told[-1]["left_out"] == 5


def test_administrative_changes_are_written_with_what_came_of_them() -> None:
    """Done or failed, each with its resource, and never with a value."""
    with Audited() as stage:
        root = stage.user("root")
        row = CreatableTopic("orders", 1, 1)
        root.ask(CreateTopicsRequest(topics=[row]))
        root.ask(CreateTopicsRequest(topics=[row]))
        root.ask(CreatePartitionsRequest([CreatePartitionsTopic("orders", 2, None)], 30_000))
        config = AlterableConfig("retention.ms", 0, "86400123")
        resource = AlterConfigsResource(2, "orders", [config])
        root.ask(IncrementalAlterConfigsRequest([resource]))
        root.ask(CreateAclsRequest([ALICE_READS]))
        entry = RequestEntryData([EntityData("user", "alice")], [OpData("request_percentage", 7.0)])
        root.ask(AlterClientQuotasRequest([entry]))
        salted = ScramCredentialUpsertion(
            "bob", 1, 4096, b"a-salt-of-bob", (b"a-key-of-bob" * 3)[:32]
        )
        root.ask(AlterUserScramCredentialsRequest(upsertions=[salted]))
        root.ask(OdradekAdminRequest("logdirs.cordon", 100, "1", '{"dirs": ["disk-a"]}'))
        root.ask(DeleteTopicsRequest([DeleteTopicState("orders")], timeout_ms=30_000))
        assert [(it["api"], it["resource"], it["outcome"]) for it in stage.told()] == [
            ("CreateTopics", "orders", "done"),
            ("CreateTopics", "orders", "failed"),
            ("CreatePartitions", "orders", "done"),
            ("IncrementalAlterConfigs", "orders", "done"),
            ("CreateAcls", "ALLOW User:alice from * READ on TOPIC LITERAL orders", "done"),
            ("AlterClientQuotas", "user alice", "done"),
            ("AlterUserScramCredentials", "bob", "done"),
            ("OdradekAdmin", "1", stage.told()[7]["outcome"]),
            ("DeleteTopics", "orders", "done"),
        ]
        assert stage.told()[1]["code"] == ErrorCode.TOPIC_ALREADY_EXISTS.name
        assert stage.told()[7]["operation"] == "logdirs.cordon"
        everything = "\n".join(stage.lines.kept)
        for secret in (SECRET, "root-secret", "86400123", "a-salt", "a-key", SHA_256.name):
            assert secret not in everything


def test_what_is_allowed_is_written_if_a_setting_says_so() -> None:
    """Logins and requests, also those that are answered on the quick path."""
    with Audited(**{"audit.log.allowed": "true"}) as stage:
        root = stage.user("root")
        root.ask(CreateTopicsRequest(topics=[CreatableTopic("orders", 1, 1)]))
        root.produce("orders", "a record")
        assert stage.brief() == [
            ("login", "User:root", None, None, "allowed"),
            ("change", "User:root", "CreateTopics", "orders", "done"),
            ("request", "User:root", "Produce", "orders", "allowed"),
        ]


def test_without_a_file_nothing_is_looked_at() -> None:
    """The setting is off by default."""
    with Stage(1) as stage:
        stage.make("orders")
        assert stage.running.services_of_this_life.audit is None
        assert not stage.lines.kept

"""What a client may do with access rules: allowed, denied, by prefix and to all, API by API.

Clients of these tests are all User:ANONYMOUS: a PLAINTEXT listener asks for no name.
"""

from typing import Any, NamedTuple, cast

import pytest

from odradek.access.filters import MATCH
from odradek.broker.access.need import BROKERS_ALONE, REFUSALS, Each, Whole
from odradek.broker.apis import OFFERED
from odradek.broker.handlers.api import Api
from odradek.model.access import Effect, Operation, PatternType, ResourceType
from odradek.model.errors import ErrorCode
from odradek.wire.apis import APIS
from odradek.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from odradek.wire.messages.create_acls import AclCreation, CreateAclsRequest
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_acls import DescribeAclsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.odradek_admin import OdradekAdminRequest
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.wire.messages.produce import ProduceRequest
from odradek.wire.schema import LATEST, Array, Request, Struct
from tests.unit.broker.stage import Client, Stage

ME = "User:ANONYMOUS"
ACL = {"authorizer_class_name": "kafka.security.authorizer.AclAuthorizer"}
TOPIC, GROUP, CLUSTER = ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


class Ruled(Stage):
    """A broker with an authorizer. Every client is a super user, until the rules are made."""

    def __init__(self, **settings: str) -> None:
        super().__init__(1, **{**ACL, "super_users": ME, **settings})

    def under(self, *rules: AclCreation) -> Client:
        """A client of the next life, in which these rules hold and it is no super user."""
        self.make("orders")
        self.make("secret")
        self.add(*rules)
        self.stop()
        with self.settings(super_users="User:root"):
            self.start()
        return self.client()

    def add(self, *rules: AclCreation) -> None:
        """They hold from now on."""
        made = self.client().ask(CreateAclsRequest(list(rules))).results
        assert not any(it.error_code for it in made), made


def allow(operation: Operation, kind: ResourceType, name: str, how: PatternType = LITERAL) -> Any:
    """A rule for every client of these tests."""
    return AclCreation(kind, name, how, ME, "*", operation, Effect.ALLOW)


def outcome(answer: Any) -> set[ErrorCode]:
    """All the codes of an answer, wherever they stand."""
    found = set[ErrorCode]()
    for field in answer.FIELDS:
        value = getattr(answer, field.name)
        if field.name == "error_code":
            found.add(ErrorCode(value))
        elif isinstance(value, list | tuple):
            for row in value:
                found |= outcome(row) if isinstance(row, Struct) else set()
    return found


def offsets_of(*topics: str) -> ListOffsetsRequest:
    """Where their first partitions end."""
    rows = [ListOffsetsTopic(it, [ListOffsetsPartition(0, timestamp=-1)]) for it in topics]
    return ListOffsetsRequest(-1, topics=rows)


@pytest.mark.parametrize(
    ("name", "how", "is_allowed"),
    [
        ("orders", LITERAL, True),
        ("ord", PREFIXED, True),
        ("*", LITERAL, True),
        ("order", LITERAL, False),
        ("orders-", PREFIXED, False),
    ],
)
def test_a_rule_is_about_a_name_a_prefix_or_all(
    name: str, how: PatternType, *, is_allowed: bool
) -> None:
    """By the quick path of Produce, the general one, and a Fetch."""
    with Ruled() as stage:
        both = [allow(it, TOPIC, name, how) for it in (Operation.READ, Operation.WRITE)]
        client = stage.under(*both)
        code = ErrorCode.NONE if is_allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert client.produce("orders", "a", acks=1).error_code == code
        assert client.produce("orders", "b").error_code == code
        assert client.fetch("orders", 0).error_code == code


def test_a_denial_wins_over_a_permission() -> None:
    """Whatever allows it: all topics are allowed, and one is not."""
    with Ruled() as stage:
        denied = allow(Operation.WRITE, TOPIC, "secret")
        denied.permission_type = Effect.DENY
        client = stage.under(allow(Operation.WRITE, TOPIC, "*"), denied)
        assert not client.produce("orders", "a").error_code
        refused = client.produce("secret", "a").error_code
        assert refused == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_rows_that_are_refused_stand_beside_those_that_are_served() -> None:
    """One topic that a client may not see keeps it from no other; missing ones look the same."""
    with Ruled() as stage:
        client = stage.under(allow(Operation.DESCRIBE, TOPIC, "orders"))
        topics = client.ask(offsets_of("secret", "orders", "missing")).topics
        codes = {it.name: it.partitions[0].error_code for it in topics}
        refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert codes == {"orders": ErrorCode.NONE, "secret": refused, "missing": refused}


def test_metadata_tells_what_a_client_may_see() -> None:
    """Hidden topics are left out of the list; named, they look like those that do not exist."""
    with Ruled() as stage:
        client = stage.under(allow(Operation.READ, TOPIC, "orders"))
        asked = MetadataRequest(topics=None, include_topic_authorized_operations=True)
        (topic,) = client.ask(asked).topics
        assert topic.name == "orders"
        bits = 1 << Operation.READ | 1 << Operation.DESCRIBE
        assert topic.topic_authorized_operations == bits
        named = [MetadataRequestTopic(name=it) for it in ("orders", "secret", "missing", "new")]
        found = client.ask(MetadataRequest(topics=named, allow_auto_topic_creation=True)).topics
        refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert {it.name: it.error_code for it in found} == {
            "orders": ErrorCode.NONE,
            "secret": refused,
            "missing": refused,
            "new": refused,
        }


def test_a_topic_is_made_for_who_may_create_it() -> None:
    """To describe it is not enough; nor is a topic made for who may not."""
    with Ruled() as stage:
        client = stage.under(
            allow(Operation.DESCRIBE, TOPIC, "new", PREFIXED),
            allow(Operation.CREATE, TOPIC, "new-1"),
        )
        named = [MetadataRequestTopic(name=it) for it in ("new-1", "new-2")]
        found = client.ask(MetadataRequest(topics=named, allow_auto_topic_creation=True)).topics
        codes = {it.name: it.error_code for it in found}
        assert codes == {"new-1": 0, "new-2": ErrorCode.TOPIC_AUTHORIZATION_FAILED}
        topics = stage.running.cluster.image.topics
        assert "new-1" in topics
        assert "new-2" not in topics


def test_an_id_does_not_tell_a_name() -> None:
    """Who may not describe a topic learns nothing by its id, and cannot delete it."""
    with Ruled() as stage:
        client = stage.under(allow(Operation.DESCRIBE, TOPIC, "orders"))
        topic_id = stage.running.cluster.image.topics["secret"].topic_id
        assert topic_id is not None
        by_id = [MetadataRequestTopic(topic_id=topic_id, name=None)]
        (row,) = client.ask(MetadataRequest(topics=by_id)).topics
        assert (row.error_code, row.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
        deleted = DeleteTopicsRequest([DeleteTopicState(None, topic_id)], timeout_ms=1_000)
        (gone,) = client.ask(deleted).responses
        assert (gone.error_code, gone.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)


def test_what_may_be_created() -> None:
    """On the cluster for all topics; on a topic for that one, whose settings stay hidden."""
    with Ruled() as stage:
        client = stage.under(allow(Operation.CREATE, TOPIC, "mine", PREFIXED))
        wanted = [CreatableTopic(it, 1, 1) for it in ("mine-1", "theirs")]
        made = {it.name: it for it in client.ask(CreateTopicsRequest(wanted)).topics}
        refused = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert made["theirs"].error_code == refused
        assert not made["mine-1"].error_code
        assert made["mine-1"].topic_config_error_code == refused
        assert made["mine-1"].num_partitions == -1


class Case(NamedTuple):
    """A request, and what allows it."""

    request: Request
    operation: Operation
    resource: ResourceType = CLUSTER
    name: str = "kafka-cluster"


CASES = (
    Case(AlterPartitionReassignmentsRequest(), Operation.ALTER),
    Case(DescribeAclsRequest(1, None, 1, None, None, 1, 1), Operation.DESCRIBE),
    Case(HeartbeatRequest("readers"), Operation.READ, GROUP, "readers"),
    Case(
        FindCoordinatorRequest(key_type=0, coordinator_keys=["readers"]),
        Operation.DESCRIBE,
        GROUP,
        "readers",
    ),
    Case(
        OffsetFetchRequest(groups=[OffsetFetchRequestGroup("readers", topics=None)]),
        Operation.DESCRIBE,
        GROUP,
        "readers",
    ),
    Case(InitProducerIdRequest(None, 1_000), Operation.IDEMPOTENT_WRITE),
    Case(InitProducerIdRequest(None, 1_000), Operation.WRITE, TOPIC, "orders"),
    Case(OdradekAdminRequest("controller.describe", 4, "kafka-cluster"), Operation.DESCRIBE),
    Case(
        FetchRequest(replica_id=2, topics=[], max_wait_ms=0),
        Operation.CLUSTER_ACTION,
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda it: type(it.request).__name__)
def test_what_a_request_needs(case: Case) -> None:
    """Without the rule it is refused, in the code of its resource; with it, it is not."""
    refusals = set(REFUSALS.values())
    with Ruled() as stage:
        assert outcome(stage.under().ask(case.request)) & refusals
        stage.stop()
        with stage.settings(super_users=ME):
            stage.start()
        stage.add(allow(case.operation, case.resource, case.name))
        stage.stop()
        with stage.settings(super_users="User:root"):
            stage.start()
        assert not outcome(stage.client().ask(case.request)) & refusals


def filled(kind: Any) -> Any:
    """A struct with one row in each of its arrays of structs, and one partition."""
    found = kind()
    for field in kind.FIELDS:
        if isinstance(field.type, Array) and field.until == LATEST:
            of: Any = field.type.of
            if isinstance(of, type) and issubclass(of, Struct):
                setattr(found, field.name, [filled(of)])
            elif "partition" in field.name:
                setattr(found, field.name, [0])
    return found


def about_secret(api: Api) -> Request:
    """A request with a row of each kind; what it needs is about something called `secret`."""
    request: Any = filled(APIS[api.key].request)
    for need in api.needs:
        if isinstance(need, Whole) and need.named_by is not None:
            setattr(request, need.named_by, "secret")
        elif isinstance(need, Each) and need.named_by is None:
            setattr(request, need.rows, ["secret"])
        elif isinstance(need, Each):
            setattr(getattr(request, need.rows)[0], need.named_by or "", "secret")
    if isinstance(request, ProduceRequest):
        request.acks = -1  # or there would be no answer
    return cast("Request", request)


DECIDED = [api for api in OFFERED.values() if any(isinstance(it, Whole | Each) for it in api.needs)]


def test_what_is_decided_before_it_is_served() -> None:
    """Each API by its table: refused without a right, and not with all of them."""
    refusals = set(REFUSALS.values())
    with Ruled() as stage:
        client = stage.under()
        served = [
            _name(it) for it in DECIDED if not outcome(client.ask(about_secret(it))) & refusals
        ]
        assert not served
        stage.stop()
        with stage.settings(super_users=ME):
            stage.start()
        kinds = [(it, "*") for it in ResourceType if it is not CLUSTER]
        stage.add(*(allow(Operation.ALL, *it) for it in (*kinds, (CLUSTER, "kafka-cluster"))))
        stage.stop()
        with stage.settings(super_users="User:root"):
            stage.start()
        client = stage.client()
        refused = [_name(it) for it in PLAIN if outcome(client.ask(about_secret(it))) & refusals]
        assert not refused


def _name(api: Api) -> str:
    return APIS[api.key].name


PLAIN = [api for api in DECIDED if api.needs != BROKERS_ALONE]
"""Without those of brokers, whose empty requests would be obeyed."""


def test_a_right_that_is_taken_away_counts_in_an_open_session() -> None:
    """For the fetch that waits, and for those behind it: what comes later is not told."""
    with Ruled() as stage:
        client = stage.under(
            allow(Operation.ALTER, CLUSTER, "kafka-cluster"),
            allow(Operation.WRITE, TOPIC, "orders"),
            allow(Operation.READ, TOPIC, "orders"),
        )
        client.produce("orders", "a")
        wanted = [FetchTopic("orders", partitions=[FetchPartition(0, fetch_offset=0)])]
        first = FetchRequest(session_epoch=0, topics=wanted, max_wait_ms=0)
        session = client.ask(first).session_id
        moved = [FetchTopic("orders", partitions=[FetchPartition(0, fetch_offset=1)])]
        waiting = FetchRequest(
            session_id=session, session_epoch=1, topics=moved, min_bytes=1, max_wait_ms=5_000
        )
        number = client.send(waiting)
        stage.run(0.1)
        other = stage.client()
        mine = DeleteAclsFilter(TOPIC, "orders", LITERAL, ME, "*", Operation.READ, Effect.ALLOW)
        (deleted,) = other.ask(DeleteAclsRequest([mine])).filter_results
        assert len(deleted.matching_acls) == 1
        other.produce("orders", "b")
        (topic,) = client.answer_to(number).responses
        assert topic.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
        assert not topic.partitions[0].records
        again = FetchRequest(session_id=session, session_epoch=2, topics=[], max_wait_ms=0)
        (topic,) = client.ask(again).responses
        assert topic.partitions[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_rules_are_described_and_taken_back() -> None:
    """By filters; the last rule of a pattern takes its znode with it."""
    with Ruled() as stage:
        client = stage.client()
        stage.add(
            allow(Operation.READ, TOPIC, "orders"),
            allow(Operation.WRITE, TOPIC, "orders"),
            allow(Operation.READ, TOPIC, "ord", PREFIXED),
        )
        about = client.ask(DescribeAclsRequest(TOPIC, "orders", MATCH, None, None, 1, 1))
        assert [(it.resource_name, len(it.acls)) for it in about.resources] == [
            ("orders", 2),
            ("ord", 1),
        ]
        every = DeleteAclsFilter(1, None, 1, None, None, 1, 1)
        (gone,) = client.ask(DeleteAclsRequest([every])).filter_results
        assert len(gone.matching_acls) == 3
        rules = stage.running.services_of_this_life.rules
        assert rules is not None
        assert not rules.decisions.book
        assert not client.ask(DescribeAclsRequest(1, None, 1, None, None, 1, 1)).resources


@pytest.mark.parametrize(
    "wrong",
    [
        AclCreation(99, "orders", 3, ME, "*", 3, 3),
        AclCreation(TOPIC, "orders", MATCH, ME, "*", 3, 3),
        AclCreation(TOPIC, "orders", 3, ME, "*", 1, 3),
        AclCreation(TOPIC, "orders", 3, ME, "*", 3, 1),
        AclCreation(TOPIC, "", PREFIXED, ME, "*", 3, 3),
        AclCreation(CLUSTER, "mine", 3, ME, "*", 3, 3),
        AclCreation(TOPIC, "orders", 3, "alice", "*", 3, 3),
        AclCreation(GROUP, "a/b", 3, ME, "*", 3, 3),
    ],
)
def test_a_rule_that_cannot_be_is_refused(wrong: AclCreation) -> None:
    """The others of its request are made."""
    with Ruled() as stage:
        right = allow(Operation.READ, TOPIC, "orders")
        refused, made = stage.client().ask(CreateAclsRequest([wrong, right])).results
        assert refused.error_code == ErrorCode.INVALID_REQUEST
        assert refused.error_message
        assert not made.error_code

"""What each request needs, and what a refusal looks like, as Kafka's `KafkaApis` has it in 3.9.

A table of facts, held against a broker: nothing allowed, allowed by name, by prefix, to all, and
allowed to all but denied by name. A topic that is missing is refused as one that exists.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from odradek.broker.access.need import REFUSALS
from odradek.broker.apis import OFFERED
from odradek.model.access import (
    Effect,
    Operation,
    Pattern,
    PatternType,
    ResourceType,
    Rule,
)
from odradek.model.errors import ErrorCode
from odradek.wire.apis import APIS
from odradek.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.unit.broker.kafka_needs import (
    ELSEWHERE,
    FACTS,
    GROUP,
    NAMES,
    OTHER_BROKER,
    TOPIC,
    TRANSACTION,
    WITHOUT_REFUSAL,
    Fact,
    Right,
)
from tests.unit.broker.stage import Client, Stage
from tests.unit.broker.test_access import ACL, ME, outcome


class Ruled:
    """A broker whose clients may do what a test says."""

    def __init__(self, stage: Stage) -> None:
        self.client: Client = stage.client()
        rules = stage.running.services_of_this_life.rules
        assert rules is not None
        self._decisions = rules.decisions

    def refusals(self, fact: Fact, topic: str = NAMES[TOPIC]) -> set[ErrorCode]:
        """That the answer has."""
        answer = self.client.ask(fact.request(topic, NAMES[GROUP]))
        return outcome(answer) & set(REFUSALS.values())

    @contextmanager
    def under(self, rules: Iterable[tuple[Pattern, Rule]]) -> Iterator[None]:
        """These rules hold meanwhile."""
        for pattern, rule in rules:
            self._decisions.replace(pattern, self._decisions.book.of(pattern) | {rule})
        yield
        for pattern, _ in rules:
            self._decisions.replace(pattern, [])


@pytest.fixture
def ruled() -> Iterator[Ruled]:
    """With one topic, and no right for anybody."""
    with Stage(1, **ACL, super_users=ME) as stage:
        stage.make(NAMES[TOPIC])
        client = stage.client()
        client.ask(FACTS["FindCoordinator"].request("", NAMES[GROUP]))
        client.ask(FACTS["OffsetCommit"].request(NAMES[TOPIC], NAMES[GROUP]))
        stage.stop()
        with stage.settings(super_users="User:root"):
            stage.start()
        yield Ruled(stage)


def _rule(right: Right, how: PatternType, name: str, effect: Effect = Effect.ALLOW) -> Any:
    return Pattern(right.on, how, name), Rule(ME, "*", right.operation, effect)


def _by_name(right: Right) -> Any:
    return _rule(right, PatternType.LITERAL, NAMES[right.on])


def _by_prefix(right: Right) -> Any:
    return _rule(right, PatternType.PREFIXED, NAMES[right.on][:6])


def _of_all(right: Right) -> Any:
    return _rule(right, PatternType.LITERAL, "*")


def _denied(right: Right) -> Any:
    return _rule(right, PatternType.LITERAL, NAMES[right.on], Effect.DENY)


def test_the_table_has_every_request() -> None:
    """One that is new is looked up in Kafka's source first."""
    named = {name.partition(" ")[0] for name in FACTS}
    assert named | WITHOUT_REFUSAL | ELSEWHERE == {APIS[key].name for key in OFFERED}


def test_nothing_is_allowed(ruled: Ruled) -> None:
    """The code is that of the first right that is missing, for a topic that is missing as well."""
    for name, fact in FACTS.items():
        expected = {REFUSALS[fact.rights[0].on]}
        assert ruled.refusals(fact) == expected, name
        assert ruled.refusals(fact, topic="missing") == expected, name


def test_what_is_missing_is_named(ruled: Ruled) -> None:
    """Of two rights that are needed, the other is missing."""
    for name, fact in FACTS.items():
        for at, right in enumerate(fact.rights[1:], 1):
            with ruled.under([_by_name(it) for it in fact.rights[:at]]):
                assert ruled.refusals(fact) == {REFUSALS[right.on]}, name


@pytest.mark.parametrize("allow", [_by_name, _by_prefix, _of_all])
def test_what_is_needed_is_allowed(ruled: Ruled, allow: Callable[[Right], Any]) -> None:
    """By the name of the resource, by what it begins with, or to all of its type."""
    for name, fact in FACTS.items():
        for rights in (fact.rights, *((it,) for it in fact.instead)):
            with ruled.under([allow(right) for right in rights]):
                assert not ruled.refusals(fact), name


def test_what_is_denied_is_refused(ruled: Ruled) -> None:
    """Whatever allows it: all operations on everything."""
    everything = [_of_all(Right(Operation.ALL, kind)) for kind in NAMES]
    for name, fact in FACTS.items():
        with ruled.under(everything):
            assert not ruled.refusals(fact), name
        denied = [_denied(it) for it in (fact.rights[0], *fact.instead)]
        if name == "InitProducerId":
            denied = [*denied, _rule(fact.instead[0], PatternType.LITERAL, "*", Effect.DENY)]
        with ruled.under([*everything, *denied]):
            assert ruled.refusals(fact) == {REFUSALS[fact.rights[0].on]}, name


def test_a_forged_follower_is_told_what_kafka_tells_it(ruled: Ruled) -> None:
    """Each partition that it names is refused, as if it were a topic that it may not read."""
    wanted = [FetchTopic(NAMES[TOPIC], partitions=[FetchPartition(0)])]
    request = FetchRequest(replica_id=OTHER_BROKER, max_wait_ms=0, topics=wanted)
    request.session_epoch = 0
    assert not ruled.client.ask(request).session_id, "a session of it would end a consumer's"
    forged = Fact(lambda _topic, _group: request, ())
    assert ruled.refusals(forged) == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    with ruled.under([_by_name(Right(Operation.READ, TOPIC))]):
        assert ruled.refusals(forged) == {ErrorCode.TOPIC_AUTHORIZATION_FAILED}
    with ruled.under([_by_name(Right(Operation.CLUSTER_ACTION))]):
        assert not ruled.refusals(forged)


def test_what_a_producer_adds_to_a_transaction(ruled: Ruled) -> None:
    """Its id first, then topics; nobody adds those that coordinators write."""
    topics = [AddPartitionsToTxnTopic(NAMES[TOPIC], [0]), AddPartitionsToTxnTopic("other", [0])]

    def codes() -> list[ErrorCode]:
        request = AddPartitionsToTxnRequest((), NAMES[TRANSACTION], 7, 0, topics)
        answer = ruled.client.ask(request, 3)
        return [
            ErrorCode(it.results_by_partition[0].partition_error_code)
            for it in answer.results_by_topic_v3_and_below
        ]

    assert codes() == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
    with ruled.under([_by_name(Right(Operation.WRITE, TRANSACTION))]):
        assert codes() == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 2
        with ruled.under([_by_name(Right(Operation.WRITE, TOPIC))]):
            assert codes() == [
                ErrorCode.OPERATION_NOT_ATTEMPTED,
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ]
        with ruled.under([_of_all(Right(Operation.WRITE, TOPIC))]):
            assert codes() == [
                ErrorCode.OPERATION_NOT_ATTEMPTED,
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            ]
            topics[1] = AddPartitionsToTxnTopic("__consumer_offsets", [0])
            assert codes() == [
                ErrorCode.OPERATION_NOT_ATTEMPTED,
                ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            ]


def test_transactional_ids(ruled: Ruled) -> None:
    """Each id is decided by itself, and refused in the words of its type."""
    asked = DescribeTransactionsRequest(["pay-1"])
    refused = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert outcome(ruled.client.ask(asked)) == {refused}
    pattern = Pattern(ResourceType.TRANSACTIONAL_ID, PatternType.LITERAL, "pay-1")
    with ruled.under([(pattern, Rule(ME, "*", Operation.DESCRIBE, Effect.ALLOW))]):
        assert refused not in outcome(ruled.client.ask(asked))

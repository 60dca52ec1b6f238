"""Clients as rules name them, and what anonymous ones can never be."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from odradek.access.decisions import Decisions
from odradek.broker.access.authorizer import Authorizer, java_address
from odradek.model.access import (
    Effect,
    Operation,
    Pattern,
    PatternType,
    ResourceType,
    Rule,
)
from odradek.security.principal import ANONYMOUS, Principal, user

EVERY_CLUSTER = Pattern(ResourceType.CLUSTER, PatternType.LITERAL, "*")


def client(principal: Principal, listener: str = "CLIENTS", host: str = "10.0.0.1") -> Any:
    """As far as decisions look at it."""
    return cast("Any", SimpleNamespace(principal=principal, listener=listener, peer=(host, 5_000)))


def authorizer(*rules: Rule, on: Pattern = EVERY_CLUSTER) -> Any:
    """With these rules on the cluster."""
    decisions = Decisions()
    decisions.replace(on, rules)
    return Authorizer(decisions, "BROKERS")


def test_anonymous_clients_are_brokers_on_their_listener_alone() -> None:
    """Whatever they are allowed; somebody who has proven a name is believed on any listener."""
    everybody = Rule("User:*", "*", Operation.ALL, Effect.ALLOW)
    found = authorizer(everybody)
    may, action = found.may_on_cluster, Operation.CLUSTER_ACTION
    assert may(client(user("broker")), action)
    assert may(client(ANONYMOUS, "BROKERS"), action)
    assert not may(client(ANONYMOUS), action)
    assert may(client(ANONYMOUS), Operation.ALTER)
    bits = found.operations_on_cluster(client(ANONYMOUS))
    assert not bits & 1 << action
    assert bits & 1 << Operation.ALTER


def test_anonymous_super_users_are_brokers_on_any_listener() -> None:
    """A cluster that gets names has brokers of either kind meanwhile."""
    decisions = Decisions(super_users=["User:ANONYMOUS"])
    found = Authorizer(decisions, "BROKERS")
    assert found.may_on_cluster(client(ANONYMOUS), Operation.CLUSTER_ACTION)


@pytest.mark.parametrize(
    ("host", "written"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("2001:db8::a:1", "2001:db8:0:0:0:0:a:1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80:0:0:0:0:0:0:1%eth0"),
        ("broker", "broker"),
    ],
)
def test_addresses_are_written_as_java_writes_them(host: str, written: str) -> None:
    """Rules that were made for Kafka's brokers name them so."""
    assert java_address(host) == written


def test_a_rule_for_one_address() -> None:
    """It is about that address however the kernel tells it."""
    rule = Rule("User:alice", "0:0:0:0:0:0:0:1", Operation.ALTER, Effect.ALLOW)
    found = authorizer(rule)
    assert found.may_on_cluster(client(user("alice"), host="::1"), Operation.ALTER)
    assert not found.may_on_cluster(client(user("alice"), host="::2"), Operation.ALTER)


def test_a_thousand_names_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that asks for ever new names takes a bounded memory, and gets the same answers."""
    monkeypatch.setattr("odradek.access.decisions.REMEMBERED_MAX", 10)
    monkeypatch.setattr("odradek.broker.access.authorizer.CALLERS_MAX", 10)
    on = Pattern(ResourceType.TOPIC, PatternType.PREFIXED, "a")
    found = authorizer(Rule("User:alice", "*", Operation.READ, Effect.ALLOW), on=on)
    for number in range(1_000):
        alice = client(user("alice"), host=f"10.0.{number // 250}.{number % 250}")
        assert found.may(alice, Operation.READ, ResourceType.TOPIC, f"a{number}")
        assert not found.may(alice, Operation.READ, ResourceType.TOPIC, f"b{number}")
    kept = found.decisions._remembered
    assert sum(map(len, kept.values())) <= 10
    assert len(found._callers) <= 10


def test_names_that_are_too_long_for_a_topic_are_not_remembered() -> None:
    """A hundred thousand of 32 KiB each would be 3 GiB, and who asks needs no right."""
    on = Pattern(ResourceType.TOPIC, PatternType.PREFIXED, "a")
    found = authorizer(Rule("User:alice", "*", Operation.READ, Effect.ALLOW), on=on)
    alice = client(user("alice"))
    for name, is_allowed in (("a" * 32_767, True), ("b" * 32_767, False), ("a" * 250, True)):
        assert found.may(alice, Operation.READ, ResourceType.TOPIC, name) is is_allowed
    assert found.may(alice, Operation.READ, ResourceType.TOPIC, "a" * 249)
    kept = found.decisions._remembered
    assert [[*it] for it in kept.values()] == [["a" * 249]]

"""What the options of `kafka-acls` come to."""

from typing import Any

import pytest

from odradek.access.filters import Filter
from odradek.cli.access.acl import filters_of
from odradek.cli.words.acl_options import words
from odradek.model.access import Effect, Operation, Pattern, PatternType, ResourceType, Rule
from odradek.model.errors import InvalidSetting

ALICE = ("User:alice",)
ORDERS = Pattern(ResourceType.TOPIC, PatternType.LITERAL, "orders")
READERS = Pattern(ResourceType.GROUP, PatternType.LITERAL, "readers")


def operations(**said: Any) -> dict[Pattern, set[Operation]]:
    """By pattern."""
    found = words(**said).creations()
    return {pattern: {it.operation for it in rules} for pattern, rules in found.items()}


def test_every_principal_with_every_host_and_operation() -> None:
    """Hosts of one side are not those of the other."""
    found = words(
        topics=("orders",),
        allow_principals=(*ALICE, "User:bob"),
        deny_principals=("User:eve",),
        allow_hosts=("10.0.0.1", "10.0.0.2"),
        operations=("read", "DescribeConfigs"),
    ).creations()[ORDERS]
    assert len(found) == 2 * 2 * 2 + 2
    assert Rule("User:bob", "10.0.0.2", Operation.DESCRIBE_CONFIGS, Effect.ALLOW) in found
    assert Rule("User:eve", "*", Operation.READ, Effect.DENY) in found


def test_what_producers_and_consumers_need() -> None:
    """As Kafka's script has it; both at once are added up."""
    produced = {Operation.WRITE, Operation.DESCRIBE, Operation.CREATE}
    role: dict[str, Any] = {"topics": ("orders",), "allow_principals": ALICE, "producer": True}
    assert operations(**role) == {ORDERS: produced}
    more = operations(**role, idempotent=True, transactional_ids=("tx",))
    assert [it.resource_type for it in more] == [
        ResourceType.TOPIC,
        ResourceType.TRANSACTIONAL_ID,
        ResourceType.CLUSTER,
    ]
    assert list(more.values())[1:] == [
        {Operation.WRITE, Operation.DESCRIBE},
        {Operation.IDEMPOTENT_WRITE},
    ]
    consumed = operations(
        topics=("orders",), groups=("readers",), allow_principals=ALICE, consumer=True
    )
    assert consumed == {ORDERS: {Operation.READ, Operation.DESCRIBE}, READERS: {Operation.READ}}
    both = operations(**role, consumer=True, groups=("readers",))
    assert both == {ORDERS: produced | {Operation.READ}, READERS: {Operation.READ}}


@pytest.mark.parametrize(
    ("said", "says"),
    [
        ({}, "at least one resource"),
        ({"topics": ("x",)}, "--allow-principal, --deny-principal"),
        ({"topics": ("x",), "pattern_type": "match"}, "'MATCH' is not valid when adding"),
        ({"groups": ("x",), "operations": ("Write",)}, "GROUP only supports operations Read,"),
        ({"topics": ("x",), "operations": ("Reed",)}, "no operation 'Reed'"),
        ({"topics": ("x",), "allow_principals": ("alice",)}, "principalType:principalName"),
        ({"producer": True, "groups": ("x",)}, "must specify a --topic"),
        ({"consumer": True, "topics": ("x",)}, "a --group"),
        ({"idempotent": True, "topics": ("x",)}, "only available if --producer"),
        ({"producer": True, "topics": ("x",), "operations": ("Read",)}, "do not go with"),
    ],
)
def test_what_is_refused(said: dict[str, Any], says: str) -> None:
    """Before a broker is asked."""
    named = {"allow_principals": ALICE} if "operations" in said else {}
    with pytest.raises(InvalidSetting, match=says):
        words(**(named | said)).creations()


def test_what_is_left_open_means_all() -> None:
    """For rules that are listed or removed; a producer's are named exactly."""
    assert filters_of(words(), ()) == [Filter()]
    assert filters_of(words(topics=("orders",), pattern_type="any"), ()) == [
        Filter(ResourceType.TOPIC, 1, "orders")
    ]
    (denied,) = filters_of(words(deny_principals=ALICE, operations=("Read",)), ())
    assert denied == Filter(principal="User:alice", operation=Operation.READ, effect=Effect.DENY)
    (placed,) = filters_of(words(allow_principals=ALICE, allow_hosts=("10.0.0.1",)), ())
    assert placed == Filter(principal="User:alice", host="10.0.0.1", effect=Effect.ALLOW)
    (asked,) = filters_of(words(), ALICE)
    assert asked == Filter(principal="User:alice")
    exact = filters_of(words(topics=("orders",), allow_principals=ALICE, producer=True), ())
    assert len(exact) == 3
    assert {it.host for it in exact} == {"*"}

"""What may be set for an entity, and which entities are asked for (KIP-546)."""

from math import inf, nan

import pytest

from odradek.model.errors import BrokerError, ErrorCode
from odradek.quotas.changes import (
    ADDRESS,
    CLIENT,
    OF_CLIENTS,
    USER,
    AnyName,
    Name,
    Operation,
    Parts,
    Wanted,
    altered,
    check_parts,
    values,
)

ALICE: Parts = {USER: "alice"}


@pytest.mark.parametrize(
    ("types", "code"),
    [
        ([USER], None),
        ([CLIENT, USER], None),
        ([ADDRESS], None),
        ([USER, USER], ErrorCode.INVALID_REQUEST),
        ([ADDRESS, USER], ErrorCode.INVALID_REQUEST),
        ([CLIENT, ADDRESS], ErrorCode.INVALID_REQUEST),
        ([""], ErrorCode.INVALID_REQUEST),
        (["group"], ErrorCode.UNSUPPORTED_VERSION),
    ],
)
def test_what_an_entity_is_made_of(types: list[str], code: ErrorCode | None) -> None:
    """A user, a client, both, or an address."""
    if code is None:
        check_parts(types)
    else:
        with pytest.raises(BrokerError) as refused:
            check_parts(types)
        assert refused.value.code is code


@pytest.mark.parametrize(
    ("parts", "name", "value", "text"),
    [
        (ALICE, "producer_byte_rate", 1024.0, "1024"),
        (ALICE, "consumer_byte_rate", 1023.9999999, "1024"),
        (ALICE, "request_percentage", 0.5, "0.5"),
        (ALICE, "controller_mutation_rate", 10, "10.0"),
        ({ADDRESS: None}, "connection_creation_rate", 0, "0"),
        ({ADDRESS: "10.0.0.1"}, "connection_creation_rate", 7, "7"),
        (ALICE, "producer_byte_rate", 0.5, None),
        (ALICE, "producer_byte_rate", 0, None),
        (ALICE, "producer_byte_rate", 1e30, None),
        (ALICE, "request_percentage", -1, None),
        (ALICE, "request_percentage", 0, None),
        (ALICE, "request_percentage", nan, None),
        (ALICE, "request_percentage", inf, None),
        (ALICE, "connection_creation_rate", 5, None),
        ({ADDRESS: None}, "producer_byte_rate", 5, None),
        (ALICE, "SCRAM-SHA-256", 5, None),
        (ALICE, "", 5, None),
    ],
)
def test_a_value_is_written_as_kafka_reads_it(
    parts: Parts, name: str, value: float, text: str | None
) -> None:
    """Or it is refused, and nothing is written."""
    operations = [Operation("request_percentage", None), Operation(name, value)]
    if text is None:
        with pytest.raises(BrokerError):
            altered(parts, operations, {})
    else:
        assert altered(parts, operations, {}) == {name: text}


def test_what_else_an_entity_has_stays() -> None:
    """A user has its credentials in the same place; an unknown setting may always be taken away."""
    found = {"SCRAM-SHA-256": "salt=", "producer_byte_rate": "5", "old": "1"}
    operations = [
        Operation("producer_byte_rate", None),
        Operation("old", None),
        Operation("consumer_byte_rate", 9),
    ]
    after = altered(ALICE, operations, found)
    assert after == {"SCRAM-SHA-256": "salt=", "consumer_byte_rate": "9"}
    assert found["old"] == "1"


def test_what_cannot_be_read_is_no_quota() -> None:
    """Others may have written it."""
    written = {
        "producer_byte_rate": "many",
        "consumer_byte_rate": "-5",
        "request_percentage": "nan",
        "controller_mutation_rate": "2.5",
        "SCRAM-SHA-256": "7",
    }
    assert values(written, OF_CLIENTS) == {"controller_mutation_rate": 2.5}


@pytest.mark.parametrize(
    ("names", "how", "found"),
    [
        ({}, "loosely", {"both", "user", "default", "client", "of default"}),
        ({}, "strictly", set()),
        ({USER: "alice"}, "loosely", {"both", "user"}),
        ({USER: "alice"}, "strictly", {"user"}),
        ({USER: None}, "loosely", {"default", "of default"}),
        ({USER: None}, "strictly", {"default"}),
        ({USER: AnyName()}, "loosely", {"both", "user", "default", "of default"}),
        ({USER: AnyName()}, "strictly", {"user", "default"}),
        ({CLIENT: "app"}, "loosely", {"both", "client", "of default"}),
        ({CLIENT: "app"}, "strictly", {"client"}),
        ({USER: AnyName(), CLIENT: "app"}, "strictly", {"both", "of default"}),
        ({USER: None, CLIENT: AnyName()}, "strictly", {"of default"}),
    ],
)
def test_which_entities_are_meant(names: dict[str, Name], how: str, found: set[str]) -> None:
    """Strictly: those that have these parts and no other."""
    entities: dict[str, Parts] = {
        "both": {USER: "alice", CLIENT: "app"},
        "user": {USER: "alice"},
        "default": {USER: None},
        "client": {CLIENT: "app"},
        "of default": {USER: None, CLIENT: "app"},
    }
    wanted = Wanted(names, how == "strictly")
    assert {name for name, parts in entities.items() if wanted.means(parts)} == found

"""Our messages in Kafka's own classes: the generated ones of kafka-clients 3.9.1.

A message goes there as bytes and comes back as bytes and as JSON. The bytes show that both have
the same layout; the JSON shows that both mean the same by each field. Fields and versions that
came after 3.9 are not compared here.
"""

from base64 import b64encode
from random import Random
from typing import Any, Final

import pytest

from odradek.model.ids import TopicId, topic_id_text
from odradek.wire import encoded
from odradek.wire.apis import APIS
from odradek.wire.headers import request_header_version, response_header_version
from odradek.wire.messages.headers import RequestHeader, ResponseHeader
from odradek.wire.schema import BYTES, RECORDS, UUID, Array, Field, Request, Response, Struct, Type
from tests.external.oracle import Oracle
from tests.samples.wire import classes, sample

pytestmark = pytest.mark.xdist_group("java")

SAMPLES: Final = 3
SEED: Final = 391

UNSTABLE_IN_3_9: Final = "ReadShareGroupStateSummaryResponse"  # 4.0 put a field into its version 0
RENAMED_SINCE_3_9: Final = {
    "VoteRequest": {
        "replicaepoch": "candidateepoch",
        "replicaid": "candidateid",
        "replicadirectoryid": "candidatedirectoryid",
    },
    "ListConfigResourcesResponse": {
        "configresources": "clientmetricsresources",
        "resourcename": "name",
    },
}
MESSAGES: Final = [
    found
    for found in classes()
    if issubclass(found, Request | Response) and found.__name__ != UNSTABLE_IN_3_9
]


@pytest.fixture(scope="session")
def java_apis(kafka_in_java: Oracle) -> list[dict[str, Any]]:
    """Every API that the Java classes have, with its versions and those of its headers."""
    found: list[dict[str, Any]] = kafka_in_java.ask("apis")["apis"]
    return found


@pytest.fixture(scope="session")
def java_versions(java_apis: list[dict[str, Any]]) -> dict[int, range]:
    """Which versions of each API the Java classes have."""
    return {api["key"]: range(api["first"], api["last"] + 1) for api in java_apis}


def kind(message: type[Request | Response]) -> str:
    """How the Java side tells the two directions apart."""
    return "request" if issubclass(message, Request) else "response"


def test_we_have_every_version_that_java_has(java_versions: dict[int, range]) -> None:
    """A client of 3.9 or before never asks for a message that we cannot read."""
    for message in MESSAGES:
        missing = set(java_versions.get(message.KEY, ())) - set(message.VERSIONS)
        assert not missing, (message.__name__, missing)
    assert not java_versions.keys() - {message.KEY for message in MESSAGES}


def test_both_put_the_same_headers_before_a_message(java_apis: list[dict[str, Any]]) -> None:
    """With the wrong one a peer takes the header's end for the message's beginning."""
    for row in java_apis:
        api = APIS[row["key"]]
        versions = range(row["first"], row["last"] + 1)
        assert row["request_headers"] == [request_header_version(api, v) for v in versions], api
        assert row["response_headers"] == [response_header_version(api, v) for v in versions], api


@pytest.mark.parametrize(
    ("header", "name"), [(RequestHeader, "request_header"), (ResponseHeader, "response_header")]
)
def test_a_header_is_the_same_bytes(
    header: type[RequestHeader | ResponseHeader], name: str, kafka_in_java: Oracle
) -> None:
    """Its text is laid out in the old way even where the message is in the new one."""
    random = Random(SEED)
    for version in header.VERSIONS:
        value = sample(header, version, random)
        ours = encoded(value, version)
        java = kafka_in_java.ask("reencode", key=0, kind=name, version=version, bytes=ours)
        assert (java["left"], java["bytes"]) == (0, b64encode(ours).decode()), (version, value)
        assert lowered(java["json"]) == Expected(version, {}).struct(value), (version, value)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_java_reads_what_we_write(
    message: type[Request | Response], kafka_in_java: Oracle, java_versions: dict[int, range]
) -> None:
    """It takes every byte, writes the same bytes again, and finds each value in its field."""
    random = Random(SEED)
    for version in java_versions.get(message.KEY, ()):
        for _ in range(SAMPLES):
            value = sample(message, version, random)
            ours = encoded(value, version)
            java = kafka_in_java.ask(
                "reencode", key=message.KEY, kind=kind(message), version=version, bytes=ours
            )
            assert java["left"] == 0, (version, value)
            assert java["bytes"] == b64encode(ours).decode(), (version, value)
            names = RENAMED_SINCE_3_9.get(message.__name__, {})
            assert lowered(java["json"]) == Expected(version, names).struct(value), (version, value)


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.__name__)
def test_java_has_the_same_defaults(
    message: type[Request | Response], kafka_in_java: Oracle, java_versions: dict[int, range]
) -> None:
    """A message of which nothing was set is the same bytes here and there."""
    for version in java_versions.get(message.KEY, ()):
        java = kafka_in_java.ask("default", key=message.KEY, kind=kind(message), version=version)
        assert java["bytes"] == b64encode(encoded(message(), version)).decode(), version


def lowered(json: Any) -> Any:
    """With names in small letters only: where Kafka begins a new word is a matter of taste."""
    if isinstance(json, dict):
        return {name.lower(): lowered(value) for name, value in json.items()}
    return [lowered(item) for item in json] if isinstance(json, list) else json


class Expected:
    """What Kafka's own converter to JSON should make of a message, with its names of fields."""

    def __init__(self, version: int, names: dict[str, str]) -> None:
        self.version = version
        self.names = names

    def struct(self, value: Struct) -> dict[str, Any]:
        """The fields of this version; a tagged one only where it says more than its default."""
        blank = value.KIND()
        found = {}
        for field in value.FIELDS:
            given = getattr(value, field.name)
            silent = field.tag is not None and given in (getattr(blank, field.name), [])
            if field.present(self.version) and not silent:
                found[self.name(field, given)] = self.value(field.type, given)
        return found

    def name(self, field: Field, given: Any) -> str:
        """Of records Kafka tells the size alone."""
        name = field.name.replace("_", "")
        if field.type is RECORDS and given is not None:
            return f"{name}sizeinbytes"
        return self.names.get(name, name)

    def value(self, of: Type, given: Any) -> Any:
        """Bytes as base64, ids as they are printed, all else as it is."""
        if isinstance(given, Struct):
            return self.struct(given)
        if given is None:
            return None
        if isinstance(of, Array):
            return [self.value(of.of, item) for item in given]
        if of is RECORDS:
            return len(given)
        if of is BYTES:
            return b64encode(given).decode()
        return topic_id_text(TopicId(given)) if of is UUID else given

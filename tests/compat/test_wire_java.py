"""Our messages in Kafka's own classes: the generated ones of Kafka 3.9.1.

A message goes there as bytes and comes back as bytes and as JSON. The bytes show that both have
the same layout; the JSON shows that both mean the same by each field. Fields, versions and
messages that came after 3.9 are not compared here.
"""

from base64 import b64encode
from collections import defaultdict
from random import Random
from typing import Any, Final

import pytest

from codegen.offered import KAFKA_3_9
from odradek.model.ids import TopicId, topic_id_text
from odradek.wire import encoded
from odradek.wire.apis import APIS
from odradek.wire.headers import request_header_version, response_header_version
from odradek.wire.schema import (
    BYTES,
    RECORDS,
    UUID,
    Array,
    Field,
    Message,
    RecordKey,
    RecordValue,
    Struct,
    Type,
)
from tests.external.oracle import Oracle
from tests.samples.wire import OURS, classes, sample

SAMPLES: Final = 3
SEED: Final = 391

UNSTABLE_IN_3_9: Final = {  # share groups were not released yet: 4.0 put fields into version 0
    "ReadShareGroupStateSummaryResponse",
    "ShareGroupMetadataValue",
}
RENAMED_CLASSES: Final = {
    "LegacyOffsetCommitKey": "OffsetCommitKey",
    "LegacyOffsetCommitValue": "OffsetCommitValue",
    "ListConfigResourcesRequest": "ListClientMetricsResourcesRequest",
    "ListConfigResourcesResponse": "ListClientMetricsResourcesResponse",
}
RENAMED_FIELDS: Final = {
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
PACKAGES: Final = {
    "__consumer_offsets": "org.apache.kafka.coordinator.group.generated",
    "__transaction_state": "org.apache.kafka.coordinator.transaction.generated",
}
NEWER_FIELDS: Final = {  # tagged, so that 3.9 hands them on without knowing them
    "ConsumerGroupCurrentMemberAssignmentValue": {"assignmentepochs"},
    "ConsumerGroupMetadataValue": {"metadatahash"},
    "ConsumerGroupTargetAssignmentMetadataValue": {"assignmenttimestamp"},
    "OffsetCommitValue": {"topicid"},
    "TransactionLogValue": {
        "previousproducerid",
        "nextproducerid",
        "clienttransactionversion",
        "nextproducerepoch",
    },
}
NEWER: Final = (  # words in the names of messages that 3.9 has not
    "ConsumerGroupRegularExpression",
    "OdradekAdmin",  # ours
    "ShareGroupCurrentMemberAssignment",
    "ShareGroupOffsets",
    "ShareGroupStatePartitionMetadata",
    "ShareGroupTargetAssignment",
    "ShareSnapshot",
    "ShareUpdate",
    "Streams",
)
KNOWN: Final = [
    message for message in classes() if not any(word in message.__name__ for word in NEWER)
]
STABLE: Final = [message for message in KNOWN if message.__name__ not in UNSTABLE_IN_3_9]


def java_class(message: type[Message]) -> str:
    """What Kafka's class for a message of ours is called."""
    name = RENAMED_CLASSES.get(message.__name__, message.__name__)
    if issubclass(message, RecordKey | RecordValue):
        return f"{PACKAGES[message.TOPIC]}.{name}"
    suffix = "Data" if name.endswith(("Request", "Response", "Header")) else ""
    return f"org.apache.kafka.common.message.{name}{suffix}"


@pytest.fixture(scope="session")
def java_versions(kafka_in_java: Oracle) -> dict[type[Message], range]:
    """The versions that Kafka 3.9 has of each message."""
    found = {}
    for message in KNOWN:
        answer = kafka_in_java.ask("versions", **{"class": java_class(message)})
        found[message] = range(answer["first"], answer["last"] + 1)
    return found


def pairs(message: type[Message], versions: range) -> list[tuple[int, int]]:
    """Our versions beside Java's. To Java of 3.9 the type of a key is its version."""
    if issubclass(message, RecordKey):
        return [(0, message.TYPE)] if message.TYPE in versions else []
    return [(version, version) for version in versions if version in message.VERSIONS]


def test_we_have_every_version_that_java_has(
    kafka_in_java: Oracle, java_versions: dict[type[Message], range]
) -> None:
    """A client or a broker of 3.9 or before never says what we cannot read."""
    assert not {api["key"] for api in kafka_in_java.ask("apis")["apis"]} - APIS.keys()
    ours = defaultdict[str, set[int]](set)  # by Java's class: one of theirs may be two of ours
    for message, versions in java_versions.items():
        ours[java_class(message)] |= {java for _, java in pairs(message, versions)}
    for message, versions in java_versions.items():
        assert set(versions) == ours[java_class(message)], message.__name__


def test_the_page_says_what_kafka_offers(kafka_in_java: Oracle) -> None:
    """`docs/compatibility.md` is compared with Kafka by those who choose."""
    offered = {
        row["key"]: row["last_stable"]
        for row in kafka_in_java.ask("apis")["apis"]
        if row["with_zookeeper"]
    }
    assert offered == KAFKA_3_9


def test_both_put_the_same_headers_before_a_message(kafka_in_java: Oracle) -> None:
    """With the wrong one a peer takes the header's end for the message's beginning."""
    for row in kafka_in_java.ask("apis")["apis"]:
        api = APIS[row["key"]]
        versions = range(row["first"], row["last"] + 1)
        assert row["request_headers"] == [request_header_version(api, v) for v in versions], api
        assert row["response_headers"] == [response_header_version(api, v) for v in versions], api


@pytest.mark.parametrize("message", STABLE, ids=lambda message: message.__name__)
def test_java_reads_what_we_write(
    message: type[Message],
    kafka_in_java: Oracle,
    java_versions: dict[type[Message], range],
) -> None:
    """It takes every byte, writes the same bytes again, and finds each value in its field."""
    random = Random(SEED)
    about = {"class": java_class(message)}
    for version, java_version in pairs(message, java_versions[message]):
        for _ in range(SAMPLES):
            value = sample(message, version, random)
            ours = encoded(value, version)
            java = kafka_in_java.ask("reencode", version=java_version, bytes=ours, **about)
            assert java["left"] == 0, (version, value)
            assert java["bytes"] == b64encode(ours).decode(), (version, value)
            expected = Expected(message, version).struct(value)
            assert lowered(java["json"]) == expected, (version, value)


@pytest.mark.parametrize("message", STABLE, ids=lambda message: message.__name__)
def test_java_has_the_same_defaults(
    message: type[Message],
    kafka_in_java: Oracle,
    java_versions: dict[type[Message], range],
) -> None:
    """A message of which nothing was set is the same bytes here and there."""
    about = {"class": java_class(message)}
    for version, java_version in pairs(message, java_versions[message]):
        java = kafka_in_java.ask("default", version=java_version, **about)
        assert java["bytes"] == b64encode(encoded(message(), version)).decode(), version


def lowered(json: Any) -> Any:
    """With names in small letters only: where Kafka begins a new word is a matter of taste."""
    if isinstance(json, dict):
        return {name.lower(): lowered(value) for name, value in json.items()}
    return [lowered(item) for item in json] if isinstance(json, list) else json


class Expected:
    """The JSON that Kafka 3.9's own converter should make of a message."""

    def __init__(self, message: type[Message], version: int) -> None:
        self.version = version
        self.names = RENAMED_FIELDS.get(message.__name__, {})
        self.unknown = NEWER_FIELDS.get(message.__name__, set())

    def struct(self, value: Struct) -> dict[str, Any]:
        """The fields of this version; a tagged one only if it is Kafka's, and not its default."""
        blank = value.KIND()
        found = {}
        for field in value.FIELDS:
            given = getattr(value, field.name)
            silent = field.tag is not None and (
                field.tag >= OURS or given in (getattr(blank, field.name), [])
            )
            name = self.name(field, given)
            if field.present(self.version) and not silent and name not in self.unknown:
                found[name] = self.value(field.type, given)
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

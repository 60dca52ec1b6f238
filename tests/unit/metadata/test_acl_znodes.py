"""Access rules as they stand in ZooKeeper."""

import pytest

from odradek.metadata.json_body import MalformedZnode
from odradek.metadata.znodes.acls import AclsChangeZnode, AclsZnode
from odradek.model.access import Effect, Operation, Pattern, PatternType, ResourceType, Rule

LITERAL = Pattern(ResourceType.TRANSACTIONAL_ID, PatternType.LITERAL, "pay:ments")
PREFIXED = Pattern(ResourceType.TOPIC, PatternType.PREFIXED, "ord")
READ = Rule("User:CN=a,O=b", "*", Operation.DESCRIBE_CONFIGS, Effect.ALLOW)
BYTES = (
    b'{"version":1,"acls":[{"principal":"User:CN=a,O=b","permissionType":"Allow",'
    b'"operation":"DescribeConfigs","host":"*"}]}'
)


def test_rules_are_written_as_kafka_writes_them() -> None:
    """Names of operations are titles."""
    assert AclsZnode.encode([READ]) == BYTES
    assert AclsZnode.decode(PREFIXED, BYTES) == {READ}
    assert AclsZnode.decode(PREFIXED, b"") == frozenset()


def test_paths_are_kafkas() -> None:
    """Literal patterns have the older tree."""
    assert AclsZnode.path(LITERAL) == "/kafka-acl/TransactionalId/pay:ments"
    assert AclsZnode.path(PREFIXED) == "/kafka-acl-extended/prefixed/Topic/ord"


@pytest.mark.parametrize(
    ("pattern", "parent", "data"),
    [
        (LITERAL, "/kafka-acl-changes", b"TRANSACTIONAL_ID:pay:ments"),
        (
            PREFIXED,
            "/kafka-acl-extended-changes",
            b'{"version":1,"resourceType":"TOPIC","name":"ord","patternType":"PREFIXED"}',
        ),
    ],
)
def test_news_are_kafkas(pattern: Pattern, parent: str, data: bytes) -> None:
    """And name the pattern whose rules are to be read again."""
    assert AclsChangeZnode.create_path(pattern) == f"{parent}/acl_changes_"
    assert AclsChangeZnode.encode(pattern) == data
    assert AclsChangeZnode.decode(parent, data) == pattern


@pytest.mark.parametrize(
    "data",
    [
        b"{}",
        b'{"version":2,"acls":[]}',
        b'{"version":1,"acls":[{}]}',
        BYTES.replace(b"Allow", b"Any"),
        BYTES.replace(b"DescribeConfigs", b"Any"),
        BYTES.replace(b"User:CN=a,O=b", b"alice"),
    ],
)
def test_what_is_no_rule_is_refused(data: bytes) -> None:
    """A rule that is not understood must not be taken for one that is not there."""
    with pytest.raises(MalformedZnode):
        AclsZnode.decode(PREFIXED, data)


@pytest.mark.parametrize("data", [b"", b"Topics:a", b"TOPIC:", b"TOPIC"])
def test_news_that_name_nothing_are_refused(data: bytes) -> None:
    """They are told, and the next ones are read."""
    with pytest.raises(MalformedZnode):
        AclsChangeZnode.decode("/kafka-acl-changes", data)

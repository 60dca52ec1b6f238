"""A topic's settings: its own over the broker's."""

import pytest

from odradek.config.broker import Layers, read
from odradek.config.findings import Given
from odradek.config.rows import topic
from odradek.config.topic import TopicConfig
from odradek.model.errors import InvalidSetting


def defaults(**settings: str) -> TopicConfig:
    """Those of a broker with these settings, `_` for a dot."""
    given = {name.replace("_", "."): Given(text, "a test") for name, text in settings.items()}
    return read(Layers(static=given))[0].topic_defaults


def test_a_topic_that_says_nothing_costs_nothing() -> None:
    """Ten thousand topics without settings of their own share one object."""
    config = defaults()
    assert config.checked({}) is config


def test_a_topics_own_setting_counts() -> None:
    """The rest remains the broker's."""
    config = defaults(log_segment_bytes="1000").checked(
        {"retention.ms": "-1", "cleanup.policy": ""}
    )
    assert config[topic.RETENTION_MS] is None
    assert config[topic.CLEANUP_POLICY] == ()
    assert config[topic.SEGMENT_BYTES] == 1000


def test_what_a_topic_said_can_be_read_again() -> None:
    """When the broker's settings change, its owner derives it anew from what it said."""
    config = defaults().checked({"segment.ms": "5"})
    again, findings = defaults(log_segment_bytes="1000").with_overrides(config.overrides)
    assert (again[topic.SEGMENT_MS], again[topic.SEGMENT_BYTES], findings) == (5, 1000, ())


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ({"no.such": "x"}, "no.such=x (set for the topic): Unknown topic config name"),
        ({"log.segment.bytes": "1000"}, "Unknown topic config name; did you mean segment.bytes?"),
        ({"retension.ms": "5"}, "did you mean retention.ms?"),
        ({"my.secret": "x"}, "my.secret=[hidden]"),
        ({"segment.bytes": "13"}, "at least 14"),
        ({"retention.ms": "-2"}, "-1 for no limit"),
        ({"min.compaction.lag.ms": "2", "max.compaction.lag.ms": "1"}, "compacted before it may"),
        ({"leader.replication.throttled.replicas": "1:2,x"}, "partition:broker"),
        ({"message.timestamp.type": "createtime"}, "CreateTime, LogAppendTime"),
    ],
)
def test_what_is_asked_for_is_checked(overrides: dict[str, str], says: str) -> None:
    """A topic is not created or changed with a setting that it cannot have."""
    with pytest.raises(InvalidSetting) as refusal:
        defaults().checked(overrides)
    assert says in str(refusal.value)


def test_what_is_stored_is_taken_as_far_as_it_is_right() -> None:
    """A wrong value in ZooKeeper must not keep the topic offline."""
    stored = {"segment.bytes": "1000", "segment.ms": "x", "no.such": "y"}
    config, findings = defaults().with_overrides(stored)
    assert config[topic.SEGMENT_BYTES] == 1000
    assert config[topic.SEGMENT_MS] == defaults()[topic.SEGMENT_MS]
    assert [finding.names for finding in findings] == [("segment.ms",), ("no.such",)]


def test_the_older_limit_on_timestamps_speaks_where_the_newer_do_not() -> None:
    """Kafka has deprecated it, but files still hold it."""
    config = defaults().checked(
        {"message.timestamp.difference.max.ms": "7", "message.timestamp.after.max.ms": "3"}
    )
    assert (config.timestamp_before_max, config.timestamp_after_max) == (7, 3)
    inherited = defaults(log_message_timestamp_difference_max_ms="9")
    assert (inherited.timestamp_before_max, inherited.timestamp_after_max) == (9, 9)

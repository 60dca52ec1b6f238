"""Changing settings at run time: what may change, over what, and who is told."""

import pytest

from odradek.config import dynamic, sources
from odradek.config.broker import BrokerConfig, changed_for_topics
from odradek.config.rows import broker, cleaner, log, messages, network, topic
from odradek.model.errors import InvalidSetting


def started(*settings: str) -> BrokerConfig:
    """A broker that began with these."""
    return sources.load(sources.from_overrides(["log.dirs=/a", *settings]))[0]


def test_this_broker_comes_before_all_and_all_before_the_file() -> None:
    """Each layer covers the one below, and uncovers it when it is taken away."""
    config = started("message.max.bytes=1000")
    config = dynamic.update(config, cluster={"message.max.bytes": "2000"}).config
    assert config[messages.MESSAGE_MAX_BYTES] == 2000
    config = dynamic.update(config, broker={"message.max.bytes": "3000"}).config
    assert config[messages.MESSAGE_MAX_BYTES] == 3000
    config = dynamic.update(config, cluster={}).config
    assert config[messages.MESSAGE_MAX_BYTES] == 3000
    config = dynamic.update(config, broker={}).config
    assert config[messages.MESSAGE_MAX_BYTES] == 1000


def test_whoever_owns_a_setting_is_told_of_its_change() -> None:
    """Only values that differ, in the order of the table; topics' defaults follow."""
    before = started("log.retention.hours=1")
    update = dynamic.update(
        before,
        cluster={"log.retention.ms": "5", "num.io.threads": "8", "log.cleaner.backoff.ms": "7"},
    )
    assert update.changed == (log.LOG_RETENTION_MS, cleaner.LOG_CLEANER_BACKOFF_MS)
    defaults = update.config.topic_defaults
    assert changed_for_topics(before.topic_defaults, defaults) == (topic.RETENTION_MS,)
    assert dynamic.update(update.config, broker={}).changed == ()


def test_a_change_for_one_listener_is_a_change() -> None:
    """Its owner has to act, though the broker's own value is as before."""
    texts = {"listener.name.external.max.connections": "5"}
    update = dynamic.update(started(), broker=texts)
    assert update.changed == (network.MAX_CONNECTIONS,)
    assert update.config.on_listeners(network.MAX_CONNECTIONS) == {"EXTERNAL": 5}


def test_what_is_set_at_run_time_counts_in_any_unit() -> None:
    """A coarser unit in a file does not come back once the finer one is set, and the reverse."""
    config = started("log.retention.ms=1000")
    assert config.topic_defaults[topic.RETENTION_MS] == 1000
    update = dynamic.update(config, cluster={"log.retention.ms": "-1"})
    assert update.config.topic_defaults[topic.RETENTION_MS] is None


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        ({"num.partitions": "3"}, "restart"),
        ({"log.retention.hours": "3"}, "restart"),
        ({"preferred.controller": "true"}, "one broker at a time"),
        ({"message.max.bytes": "x"}, "must be"),
        ({"listener.name.a.max.connections": "-1"}, "listener.name.a.max.connections=-1"),
        ({"log.cleaner.dedupe.buffer.size": "1"}, "more than a megabyte"),
    ],
)
def test_what_may_not_be_set_for_all_is_refused(texts: dict[str, str], says: str) -> None:
    """Whoever asks is told why, and nothing of the request is taken."""
    with pytest.raises(InvalidSetting, match=says):
        dynamic.check(started(), cluster={"message.max.bytes": "2000"} | texts)


def test_one_broker_may_change_more_than_all() -> None:
    """Some settings are one broker's own; what nobody knows is kept, as Kafka keeps it."""
    dynamic.check(started(), broker={"preferred.controller": "true", "no.such": "x"})
    with pytest.raises(InvalidSetting, match=r"num\.partitions.*restart"):
        dynamic.check(started(), broker={"num.partitions": "3"})


def test_all_that_is_wrong_with_a_request_is_told() -> None:
    """One line each, as at start."""
    with pytest.raises(InvalidSetting) as refusal:
        dynamic.check(started(), cluster={"num.partitions": "3", "message.max.bytes": "x"})
    assert len(str(refusal.value).splitlines()) == 2


def test_a_wrong_value_that_is_stored_does_not_stop_a_broker() -> None:
    """It is left out with a finding, and the right ones beside it are taken."""
    stored = {"message.max.bytes": "2000", "log.segment.bytes": "x", "broker.id": "9"}
    update = dynamic.update(started(), cluster=stored)
    assert update.config[messages.MESSAGE_MAX_BYTES] == 2000
    assert update.config[log.LOG_SEGMENT_BYTES] == log.LOG_SEGMENT_BYTES.default
    assert update.config[broker.BROKER_ID] == -1
    assert [finding.names for finding in update.findings] == [
        ("log.segment.bytes",),
        ("broker.id",),
    ]


def test_a_contradiction_that_is_stored_changes_nothing() -> None:
    """It cannot be told which of the settings was meant, so all remain as they were."""
    before = started("log.cleaner.max.compaction.lag.ms=8")
    stored = {"log.cleaner.min.compaction.lag.ms": "9", "message.max.bytes": "2000"}
    update = dynamic.update(before, cluster=stored)
    assert update.config is before
    assert update.changed == ()
    assert len(update.findings) == 1

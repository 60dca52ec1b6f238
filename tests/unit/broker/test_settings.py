"""Settings that several read and write at the same time."""

from odradek.broker.settings import Settings
from odradek.config.broker import Layers, read
from odradek.config.rows import topic as rows
from odradek.metadata.znodes.settings import Entity, EntityType

ORDERS = Entity(EntityType.TOPICS, "orders")


def settings() -> Settings:
    """Nothing is set."""
    return Settings(read(Layers(static={}))[0])


def test_an_older_reading_replaces_nothing() -> None:
    """It began before somebody wrote, and is dealt with behind what was written."""
    found = settings()
    found.on_entity(ORDERS, {"min.insync.replicas": "2"}, 7)
    found.on_entity(ORDERS, {"min.insync.replicas": "1"}, 5)
    assert found.topic("orders")[rows.MIN_INSYNC_REPLICAS] == 2
    found.on_entity(ORDERS, {"min.insync.replicas": "3"}, 8)
    assert found.topic("orders")[rows.MIN_INSYNC_REPLICAS] == 3


def test_a_topic_that_was_made_again_begins_anew() -> None:
    """What was known of the one before says nothing."""
    found = settings()
    found.on_entity(ORDERS, {"min.insync.replicas": "2"}, 7)
    found.forget_topic("orders")
    found.on_entity(ORDERS, {"retention.ms": "-1"}, 6)
    assert found.overrides(ORDERS) == {"retention.ms": "-1"}


def test_what_was_known_holds_on_where_it_cannot_be_read() -> None:
    """Where nothing was known no record is deleted."""
    found = settings()
    found.on_entity(ORDERS, {"retention.ms": "5"}, 7)
    found.on_unreadable(ORDERS, "no access")
    assert found.topic("orders")[rows.RETENTION_MS] == 5
    found.on_unreadable(Entity(EntityType.TOPICS, "others"), "no access")
    assert found.topic("others").overrides["retention.ms"] == "-1"


def test_what_may_be_of_an_earlier_topic_deletes_nothing() -> None:
    """All else of it holds until it can be read."""
    found = settings()
    found.on_entity(ORDERS, {"retention.ms": "5", "min.insync.replicas": "2"}, 7)
    for _ in range(2):
        found.on_unread("orders")
        assert found.topic("orders")[rows.RETENTION_MS] is None
        assert found.topic("orders")[rows.MIN_INSYNC_REPLICAS] == 2
    found.on_entity(ORDERS, {"retention.ms": "5", "min.insync.replicas": "2"}, 7)
    assert found.topic("orders")[rows.RETENTION_MS] == 5

"""A topic's settings as its logs see them."""

from odradek.config.broker import Layers, read
from odradek.model.units import Bytes, Millis
from odradek.storage.settings import LogConfig


def test_defaults_are_those_of_a_topic_that_says_nothing() -> None:
    """The two tables cannot drift apart."""
    broker, _ = read(Layers())
    assert LogConfig.of(broker.topic_defaults) == LogConfig()


def test_what_a_topic_says_is_what_its_logs_do() -> None:
    """Without bounds is None, whatever the number on the wire."""
    broker, _ = read(Layers())
    topic = broker.topic_defaults.checked(
        {
            "cleanup.policy": "compact,delete",
            "retention.ms": "-1",
            "retention.bytes": "4096",
            "flush.messages": "10",
            "flush.before.ack": "true",
        }
    )
    config = LogConfig.of(topic, Millis(5))
    assert (config.compact, config.delete) == (True, True)
    assert config.retention_ms is None
    assert config.retention_bytes == Bytes(4_096)
    assert (config.flush_messages, config.flush_ms, config.flush_before_ack) == (10, None, True)
    assert config.producer_expiration_ms == 5

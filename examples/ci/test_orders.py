"""Two tests that share a broker, each with a topic of its own."""

import pytest
from confluent_kafka import Producer


@pytest.mark.parametrize("order", ["a", "b"])
def test_an_order_is_stored(odradek, order: str) -> None:
    """Both share one broker, and neither sees the other's records."""
    producer = Producer({"bootstrap.servers": odradek.bootstrap, "log_level": 0})
    producer.produce(odradek.topic("orders"), order)
    assert producer.flush(30) == 0

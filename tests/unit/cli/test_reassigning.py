"""What a reassignment that does not end is waiting for."""

from odradek.cli.replicas.reassigning import waits_for
from odradek.model.ids import TopicPartition

ONE, TWO = TopicPartition("orders", 1), TopicPartition("orders", 2)


def test_brokers_that_are_gone_hold_it_up() -> None:
    """Only those of partitions that are still moved; a bar alone would stand still in silence."""
    targets = {ONE: (1, 2), TWO: (4, 5)}
    assert waits_for([ONE], targets, {1, 2}) == ""
    assert waits_for([ONE], targets, {1, 3}) == "waiting for broker 2 to be registered again"
    assert "brokers 4, 5 to be" in waits_for([ONE, TWO], targets, {1, 2})

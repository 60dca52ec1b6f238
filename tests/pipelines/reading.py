"""What readers of committed records find in a topic of numbers."""

from confluent_kafka import Consumer, TopicPartition

from tests.pipelines.topics import Topics


def committed(topics: Topics, topic: str) -> list[int]:
    """All that readers of committed records see: no transaction is open when this is asked."""
    settings = {
        "bootstrap.servers": topics.bootstrap,
        "group.id": "readers",
        "isolation.level": "read_committed",
        "enable.partition.eof": True,
    }
    numbers = list(topics.admin.list_topics(topic, timeout=30).topics[topic].partitions)
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, it, 0) for it in numbers])
    found: list[int] = []
    ends = 0
    try:
        while ends < len(numbers):
            message = consumer.poll(30)
            assert message is not None
            value = message.value()
            if message.error() is None:
                assert isinstance(value, bytes)
                found.append(int(value))
            else:
                ends += 1
    finally:
        consumer.close()
    return sorted(found)

"""What tests ask of librdkafka's clients when the broker is the one that the lesson is about."""

from typing import Any, Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.broker_process import Broker, eventually

SECONDS_MAX: Final = 20


def quiet(broker: Broker, **how: Any) -> dict[str, Any]:
    """Settings of a client that says nothing when its broker is away, and soon finds it again."""
    calm = {"log_level": 0, "reconnect.backoff.ms": 20, "reconnect.backoff.max.ms": 100}
    return {"bootstrap.servers": broker.bootstrap, **calm, **how}


def create_topic(broker: Broker, name: str, partitions: int = 1, **config: str) -> str:
    """It is there when this returns; `_` in a setting's name stands for its dot."""
    settings = {setting.replace("_", "."): value for setting, value in config.items()}
    topic = NewTopic(name, partitions, 1, config=settings)
    admin = AdminClient(quiet(broker))  # held: its answers end with it
    for created in admin.create_topics([topic]).values():
        created.result(SECONDS_MAX)
    return name


def read_all(broker: Broker, topic: str, partition: int) -> dict[int, bytes | None]:
    """The values by their offsets, in the order in which they came, up to the end."""
    how = {"group.id": "auditors", "enable.partition.eof": True, "enable.auto.commit": False}
    consumer = Consumer(quiet(broker, **how, **{"fetch.wait.max.ms": 10}))
    consumer.list_topics(topic, SECONDS_MAX)  # or it learns only half a second later who leads
    consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
    values: dict[int, bytes | None] = {}

    def at_end() -> bool:
        for message in consumer.consume(10_000, timeout=0.1):
            if message.error():
                return True
            offset = message.offset()
            assert offset is not None
            assert offset not in values, "it was read twice"
            values[offset] = message.value()
        return False

    eventually(at_end, seconds=SECONDS_MAX)
    consumer.close()
    return values

"""What passes through: counters that the hot path raises and the metrics page reads."""


class Traffic:
    """Of one topic, or of all together."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "failed_fetches",
        "failed_produces",
        "fetches",
        "leaderships",
        "messages_in",
        "produces",
    )

    def __init__(self) -> None:
        self.messages_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.produces = 0  # requests, counted once for each partition, as Kafka does
        self.failed_produces = 0
        self.fetches = 0
        self.failed_fetches = 0
        self.leaderships = 0  # partitions of the topic that are led here


class Traffics:
    """Those of each topic, until it is deleted: as many are kept as there are topics."""

    def __init__(self) -> None:
        self.by_topic: dict[str, Traffic] = {}
        self.refused = Traffic()  # of topics that are not led here

    def of(self, topic: str) -> Traffic:
        """The counters of a topic."""
        traffic = self.by_topic.get(topic)
        if traffic is None:
            traffic = self.by_topic[topic] = Traffic()
        return traffic

    def forget(self, topic: str) -> None:
        """A partition was deleted; behind the last one nothing is counted any more."""
        traffic = self.by_topic.get(topic)
        if traffic is not None and not traffic.leaderships:
            del self.by_topic[topic]

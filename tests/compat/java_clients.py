"""Kafka's Java clients and tools, in one JVM, and the broker that they are pointed at."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, Protocol

from tests.compat.broker_process import eventually
from tests.external.oracle import Oracle

TOOLS: Final = "org.apache.kafka.tools"
_NUMBERS = count()


class Servers(Protocol):
    """A broker, or several."""

    @property
    def bootstrap(self) -> str:
        """As clients have it."""
        ...


class Java:
    """The JVM, and the broker that everything in it is pointed at."""

    def __init__(self, oracle: Oracle, broker: Servers) -> None:
        self.oracle = oracle
        self.bootstrap = broker.bootstrap

    def tool(self, main: str, *arguments: str) -> str:
        """What a tool says on its standard output; it must end well."""
        where = ("--bootstrap-server", self.bootstrap)
        answer = self.oracle.ask("tool", main=main, arguments=[*arguments, *where])
        assert answer["status"] == 0, answer["said"]
        said = answer["said"]
        assert isinstance(said, str)
        return said

    def admin(self, call: str, topic: str = "", **about: Any) -> dict[str, Any]:
        """What the administrator is answered."""
        where = {"bootstrap": self.bootstrap, "topic": topic}
        return self.oracle.ask("admin", call=call, **where, **about)

    def topic(self, partitions: int = 1, *more: str) -> str:
        """A new one, by `kafka-topics`."""
        name = fresh("orders")
        how = ("--create", "--topic", name, "--partitions", str(partitions))
        said = self.topics(*how, "--replication-factor", "1", *more)
        assert said == f"Created topic {name}.\n"
        return name

    def topics(self, *arguments: str) -> str:
        """`kafka-topics`."""
        return self.tool(f"{TOOLS}.TopicCommand", *arguments)

    def groups(self, *arguments: str) -> str:
        """`kafka-consumer-groups`."""
        return self.tool(f"{TOOLS}.consumer.group.ConsumerGroupCommand", *arguments)

    def configs(self, *arguments: str) -> str:
        """`kafka-configs`."""
        return self.tool("kafka.admin.ConfigCommand", *arguments)

    def offsets(self, *arguments: str) -> str:
        """`kafka-get-offsets`."""
        return self.tool(f"{TOOLS}.GetOffsetShell", *arguments)

    def produce(self, topic: str, values: list[str], **how: Any) -> list[int]:
        """The producer, with its own defaults: acks=all and idempotent. The offsets."""
        time = {"time": how.pop("time")} if "time" in how else {}
        settings = {"bootstrap.servers": self.bootstrap, **how}
        about = {"topic": topic, "values": values, "settings": settings, **time}
        offsets = self.oracle.ask("produce", **about)["offsets"]
        assert isinstance(offsets, list)
        return offsets

    @contextmanager
    def consumer(
        self, topic: str, group: str, *, assign: bool = False, **how: str
    ) -> Iterator["JavaConsumer"]:
        """One that begins at the beginning."""
        settings = {
            "bootstrap.servers": self.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": "false",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "100",
            **{name.replace("_", "."): value for name, value in how.items()},
        }
        name = fresh("consumer")
        about = {"topic": topic, "assign": assign, "settings": settings}
        self.oracle.ask("consumer", name=name, **about)
        try:
            yield JavaConsumer(self.oracle, name, topic)
        finally:
            self.oracle.ask("close", name=name)


class JavaConsumer:
    """One of several in the JVM."""

    def __init__(self, oracle: Oracle, name: str, topic: str) -> None:
        self._oracle = oracle
        self._name = name
        self._topic = topic
        self.values: list[str] = []
        self.generation = -1

    def share(self) -> set[int]:
        """Polls; the partitions that are its at the moment."""
        answer = self.ask("poll")
        self.values += answer["values"]
        self.generation = answer["generation"]
        return set(answer["assignment"])

    def take(self, expected: int) -> list[str]:
        """So many values."""
        eventually(lambda: self.share() and len(self.values) >= expected)
        taken, self.values = self.values, []
        return taken

    def ask(self, what: str, **about: Any) -> dict[str, Any]:
        """Something else."""
        return self._oracle.ask(what, name=self._name, topic=self._topic, **about)


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"

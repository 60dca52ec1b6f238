"""Exactly once by clients of other people's: each consumes, transforms and produces.

The cluster is at `transaction.version` 2, which Java's clients speak from 4.0 on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, Message, Producer

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell, fresh
from tests.external.tools import COPIERS
from tests.live.programs import SECONDS_MAX, Program, running

PARTITIONS: Final = 3
RECORDS: Final = 600
"""Some thirty transactions of twenty."""
EPOCH_OF_ITS_OWN: Final = 10
"""No producer of version 1 comes to so many epochs here: it has one for each process."""


class Copying:
    """Two topics, and copiers between them."""

    def __init__(self, odradek: Shell, folder: Path) -> None:
        self.odradek = odradek
        self.name = fresh("copier")
        self._folder = folder
        self._source, self._target = (fresh(it) for it in ("source", "target"))
        for topic in (self._source, self._target):
            odradek("topic", "create", topic, "-p", str(PARTITIONS))
        producer = Producer({"bootstrap.servers": odradek.bootstrap})
        for number in range(RECORDS):
            producer.produce(self._source, f"v{number}", partition=number % PARTITIONS)
        producer.flush()

    def copier(self, *command: str) -> Program:
        """One life."""
        about = (self.odradek.bootstrap, self._source, self._target, self.name)
        return Program([*command, *about], self._folder / fresh("said"))

    def copied(self) -> list[set[str]]:
        """What is committed in the target, by partition; twice the same value is an error."""
        found: list[set[str]] = [set() for _ in range(PARTITIONS)]
        for message in self.committed():
            value = message.value().decode()
            assert value not in found[message.partition()], value
            found[message.partition()].add(value)
        return found

    def committed(self) -> Iterator[Message]:
        """All of the target, as it is now."""
        how = {
            "bootstrap.servers": self.odradek.bootstrap,
            "group.id": fresh("readers"),
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
        consumer = Consumer(how)
        consumer.subscribe([self._target])
        ends = 0
        while ends < PARTITIONS:
            message = consumer.poll(30)
            assert message is not None
            if message.error():
                ends += 1
            else:
                yield message
        consumer.close()

    def epoch(self) -> int:
        """Of the copier's producer."""
        (row,) = self.odradek("transaction", "describe", self.name).rows
        return int(row[3])


@pytest.fixture
def copying(odradek: Shell, tmp_path: Path) -> Copying:
    """At level 2."""
    odradek("cluster", "features", "transaction.version=2")
    return Copying(odradek, tmp_path)


def copies_once(copying: Copying, *command: str) -> None:
    """One process is killed among its transactions, and another goes on."""
    wanted = [{f"V{it}" for it in range(at, RECORDS, PARTITIONS)} for at in range(PARTITIONS)]
    first = copying.copier(*command)
    with running(first):
        eventually(lambda: first.lines().count("committed") >= 3)
    second = copying.copier(*command)
    with running(second):
        eventually(lambda: copying.copied() == wanted)
    assert "aborted" in second.lines()


def java(classpath: str, *more: str, program: str = "Copier") -> Sequence[str]:
    """Compiled as it is started."""
    options = ("-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", classpath, *more)
    return ["java", *options, str(COPIERS / f"{program}.java")]


def test_javas_newest_clients(copying: Copying, newest_clients: str, javac: str) -> None:
    """Each of their transactions has an epoch of its own: that is version 2."""
    assert javac, "asked for, so that it is installed"
    copies_once(copying, *java(newest_clients))
    assert copying.epoch() >= EPOCH_OF_ITS_OWN


def test_javas_clients_of_3_9(copying: Copying, kafka_classpath: str, javac: str) -> None:
    """They speak version 1, in a cluster of version 2."""
    assert javac, "asked for, so that it is installed"
    copies_once(copying, *java(kafka_classpath))
    assert copying.epoch() < EPOCH_OF_ITS_OWN


def test_franz_go(copying: Copying, franz: str) -> None:
    """Its session of a group and transactions."""
    copies_once(copying, franz, "copy")


def test_franz_gos_own_test(odradek: Shell, franz_tests: str, tmp_path: Path) -> None:
    """Three of its groups behind one another, in each way of dividing partitions: at the same time.

    Their members come and go, and each record arrives once.
    """
    where = {"KGO_SEEDS": odradek.bootstrap, "KGO_TEST_RF": "1", "KGO_TEST_RECORDS": "2000"}
    command = ["env", *(f"{it[0]}={it[1]}" for it in where.items()), franz_tests, "-test.v"]
    ways = ("roundrobin", "range", "sticky", "cooperative-sticky")
    with ExitStack() as stack:
        programs = []
        for way in ways:
            of_it = f"-test.run=TestTxnEtl/^{way}$"
            programs.append(Program([*command, of_it], tmp_path / way))
            stack.enter_context(running(programs[-1]))
        for way, program in zip(ways, programs, strict=True):
            program.process.wait(SECONDS_MAX)
            passed = f"    --- PASS: TestTxnEtl/{way} "
            assert any(it.startswith(passed) for it in program.lines()), program.lines()[-20:]


def test_kafkajs(copying: Copying, kafkajs: str) -> None:
    """Transactions around what `eachBatch` hands out."""
    copies_once(copying, "node", kafkajs)


def test_streams(copying: Copying, newest_clients: str, javac: str, tmp_path: Path) -> None:
    """`exactly_once_v2`, through a topic of its own and a state: each record counts once.

    Two are killed with their state; the next has it from the topics.
    """
    assert javac, "asked for, so that it is installed"

    def counts() -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for message in copying.committed():
            found.setdefault(message.key(), []).append(int.from_bytes(message.value(), "big"))
        return found

    def is_so_far(count: int) -> bool:
        return sum(map(len, counts().values())) >= count

    for count in (RECORDS // 6, RECORDS // 3, RECORDS):
        state = tmp_path / f"state-{count}"
        program = copying.copier(*java(newest_clients, f"-Dstate={state}", program="Counter"))
        with running(program):
            eventually(lambda count=count: is_so_far(count))  # type: ignore[misc]
    each = list(range(1, RECORDS // 10 + 1))
    assert counts() == {b"%d" % digit: each for digit in range(10)}

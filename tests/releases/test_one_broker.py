"""One broker with its own ZooKeeper, and the files of the command: forward, and back."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, Producer

from tests.compat.broker_process import OdradekBroker
from tests.live.workload import read_all
from tests.releases.conftest import Releases

GROUP: Final = "readers"
ORDERS: Final = "orders"


def produce(broker: OdradekBroker, *values: bytes) -> None:
    """To one partition, by a producer of its own."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for value in values:
        producer.produce(ORDERS, value)
    assert producer.flush(60) == 0


def read_on(broker: OdradekBroker, count: int) -> list[bytes]:
    """So many more by the group, which commits them."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": GROUP,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([ORDERS])
    found = [it.value() for it in consumer.consume(count, timeout=60)]
    consumer.commit(asynchronous=False)
    consumer.close()
    return found


def test_its_data_and_tree_go_both_ways(tmp_path: Path, releases: Releases) -> None:
    """After a stop and after a kill: ZooKeeper's journal, logs, snapshots, positions of groups."""
    broker = OdradekBroker(tmp_path)
    expected: list[bytes] = []
    lives = [releases.last, releases.this, releases.last, releases.this]
    for life, source in enumerate(lives):
        broker.source = source
        broker.start()
        values = [b"%d-%d" % (life, number) for number in range(3)]
        produce(broker, *values)
        assert read_on(broker, len(values)) == values
        expected += values
        if life % 2:
            broker.kill()
        else:
            broker.stop()
    broker.start()
    (records,) = read_all(broker.bootstrap, ORDERS, 1).values()
    assert [value for _, value in records] == expected
    broker.stop()


def odradek(source: Path, state: Path, *arguments: str) -> str:
    """The command of a release, as its users call it."""
    variables = {**os.environ, "PYTHONPATH": str(source), "XDG_CONFIG_HOME": str(state)}
    command = [sys.executable, "-m", "odradek", *arguments]
    return subprocess.run(
        command, env=variables, check=True, capture_output=True, text=True, cwd=state
    ).stdout


def test_contexts_go_both_ways(tmp_path: Path, releases: Releases) -> None:
    """Either release lists and uses what the other has made."""
    for name, source in (("old", releases.last), ("new", releases.this), ("back", releases.last)):
        odradek(source, tmp_path, "context", "set", name, "--bootstrap", "127.0.0.1:1")
    lists = [odradek(it, tmp_path, "context", "list", "--json") for it in releases]
    assert lists[0] == lists[1]
    assert all(f'"{name}"' in lists[0] for name in ("old", "new", "back"))

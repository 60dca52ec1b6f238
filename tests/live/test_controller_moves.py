"""The controller is moved under producers with acks=all, and brokers are killed on the way."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

from tests.compat.broker_process import eventually
from tests.live.cluster import LiveCluster
from tests.live.workload import SteadyProducer, check_kept, read_all

PARTITIONS: Final = 4
TOPIC: Final = "orders"
SETTINGS: Final = {"zookeeper.session.timeout.ms": "6000"}


def odradek(cluster: LiveCluster, *words: str) -> Any:
    """What the command prints."""
    command = [sys.executable, "-m", "odradek", "--bootstrap", cluster.bootstrap, "--json"]
    done = subprocess.run(
        [*command, *words], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) if done.stdout.strip() else None


def controller(cluster: LiveCluster) -> int:
    """Which broker is it."""
    return int(odradek(cluster, "controller", "describe")["controller"])


def test_moves_and_deaths_of_the_controller_lose_nothing(tmp_path: Path) -> None:
    """A move changes no leader; when its target or the controller dies, there is another soon."""
    with LiveCluster(tmp_path, settings=SETTINGS) as cluster:
        cluster.make(TOPIC, PARTITIONS)
        first = controller(cluster)
        second, third = (it for it in cluster.brokers if it != first)
        with SteadyProducer(cluster.bootstrap, TOPIC, PARTITIONS) as producer:
            before = cluster.partitions(TOPIC)
            odradek(cluster, "controller", "move", str(second))
            assert controller(cluster) == second
            assert cluster.partitions(TOPIC) == before
            command = [sys.executable, "-m", "odradek", "--bootstrap", cluster.bootstrap]
            moving = subprocess.Popen([*command, "controller", "move", str(third)])
            eventually(lambda: "is_wished_elsewhere" in cluster.brokers[second].log())
            cluster.brokers[third].kill()
            moving.wait(60)
            eventually(lambda: controller(cluster) in {first, second}, what="a controller lives")
            cluster.brokers[third].start()
            cluster.await_isr(TOPIC, 3)
            dying = controller(cluster)
            cluster.brokers[dying].kill()
            eventually(lambda: controller(cluster) != dying, what="another is the controller")
            cluster.brokers[dying].start()
            cluster.await_isr(TOPIC, 3)
            producer.stop()
        found = read_all(cluster.bootstrap, TOPIC, PARTITIONS)
        assert not producer.failed
        check_kept(producer, found)
        why = [it["why"] for it in odradek(cluster, "controller", "history")]
        assert f"broker {first} handed over: an operator wished it" in why

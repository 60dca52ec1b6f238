"""Faults, drawn: each is named by `cluster health` and mended as its runbook says.

Which broker, in which order, is drawn by a seed; `ODRADEK_FAULTS=7` draws others. What was
acknowledged before, between and after is there at the end.
"""

import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.live.cluster import LiveCluster
from tests.live.test_draining import fill
from tests.live.test_runbooks import CALL, TEXT

SEED: Final = os.environ.get("ODRADEK_FAULTS", "39")
RECORDS: Final = 20  # after each fault
SETTINGS: Final = {
    "zookeeper.session.timeout.ms": "2000",
    "min.insync.replicas": "1",
    "offsets.topic.num.partitions": "1",
}


class Ground:
    """A cluster, of which one broker is drawn for each fault, and the command."""

    def __init__(self, cluster: LiveCluster, odradek: Shell, draws: random.Random) -> None:
        self.cluster = cluster
        self.odradek = odradek
        self.draws = draws
        self.broker = 0
        self.topic = ""
        self.log_dir = Path()
        self._written = 0

    def draw(self, number: int) -> None:
        """Whom the next fault hits, and a topic that is there for it."""
        self.broker = self.draws.choice(sorted(self.cluster.brokers))
        self.topic = f"fault-{number}"
        self.log_dir = self.cluster.brokers[self.broker].directory / "disk-b"

    @property
    def others(self) -> list[int]:
        """All brokers but the drawn one, in an order that is drawn, too."""
        left = [it for it in sorted(self.cluster.brokers) if it != self.broker]
        self.draws.shuffle(left)
        return left

    def without(self) -> None:
        """The drawn broker is asked nothing."""
        addresses = [self.cluster.brokers[it].bootstrap for it in self.others]
        self.odradek.bootstrap = ",".join(addresses)

    def kill(self) -> None:
        """The drawn broker."""
        self.without()
        self.cluster.brokers[self.broker].kill()

    def start(self) -> None:
        """It again."""
        self.cluster.brokers[self.broker].start()
        self.odradek.bootstrap = self.cluster.bootstrap

    def as_documented(self, section: str, call: str) -> None:
        """A command of a runbook, for this broker, topic and disk."""
        (text,) = re.findall(rf"^## {section}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
        assert call in CALL.findall(text), (section, call)
        words = {"3": str(self.broker), "2": str(self.broker), "orders": self.topic}
        words["/disks/2"] = str(self.log_dir)
        ended = self.odradek.run(*(words.get(it, it) for it in call.split()))
        if "not done without --yes" in ended.err:
            ended = self.odradek.run(*(words.get(it, it) for it in call.split()), "--yes")
        assert ended.code == 0, (call, ended)

    def write(self) -> None:
        """Acknowledged records, in a topic that no fault is about."""
        lines = b"".join(b"%d\n" % (self._written + it) for it in range(RECORDS))
        self.odradek("produce", "kept", said=lines)
        self._written += RECORDS

    def check_kept(self) -> None:
        """All of them, in the order of each partition."""
        lines = self.odradek("consume", "kept", "-e").out.split()
        assert sorted(map(int, lines)) == list(range(self._written))


class Fault(NamedTuple):
    """How it is made, what `cluster health` says of it, and how it is mended."""

    make: Callable[[Ground], None]
    says: str  # BROKER and TOPIC stand for the drawn ones
    mend: Callable[[Ground], None]


def killed(it: Ground) -> None:
    """A broker's process ends."""
    it.kill()


def stands_still(it: Ground) -> None:
    """Its ports are open, and nothing answers."""
    it.without()
    it.cluster.brokers[it.broker].pause()


def goes_on(it: Ground) -> None:
    """It was never gone."""
    it.cluster.brokers[it.broker].resume()
    it.odradek.bootstrap = it.cluster.bootstrap


def alone(it: Ground) -> None:
    """The only replica of a partition is gone with its broker."""
    it.cluster.place(it.topic, [it.broker])
    it.kill()


def below_min_isr(it: Ground) -> None:
    """Writes of a topic are refused."""
    it.cluster.place(it.topic, [it.broker, it.others[0]], **{"min.insync.replicas": "2"})
    it.kill()


def dir_offline(it: Ground) -> None:
    """A disk was taken out."""
    it.cluster.place(it.topic, [it.broker, it.others[0]])
    it.odradek("logdirs", "offline", str(it.log_dir), "--broker", str(it.broker), "--yes")


def dir_replaced(it: Ground) -> None:
    """An empty one is mounted in its place."""
    it.log_dir.rename(it.log_dir.with_name(f"old-{it.topic}"))
    it.log_dir.mkdir()
    it.as_documented("OfflineLogDirectoryCount", "logdirs replace /disks/2 --broker 3")


def zookeeper_away(it: Ground) -> None:
    """It ends."""
    it.cluster.zookeeper.kill()


def zookeeper_back(it: Ground) -> None:
    """With its data."""
    it.cluster.zookeeper.start()


def throttle_left(it: Ground) -> None:
    """A move was ended by another, and the throttle stayed."""
    first, second, third = it.others
    it.cluster.place(it.topic, [first, second])
    fill(it.cluster, it.topic, 3_000)  # more than the one answer that no throttle holds up
    move = ("partition", "reassign", it.topic, "-p", "0", "--no-wait", "--replicas")
    it.odradek(*move, f"{first},{third}", "--throttle", "1K")
    it.odradek(*move, f"{first},{second}")


def throttle_taken(it: Ground) -> None:
    """As health itself says."""
    told = it.odradek.run("cluster", "health").out
    assert "odradek partition throttle none" in told
    it.odradek("partition", "throttle", "none")


def move_waits(it: Ground) -> None:
    """A replica is to come to a broker that dies."""
    first, second, _ = it.others
    it.cluster.place(it.topic, [first, second])
    fill(it.cluster, it.topic, 3_000)
    words = ("--replicas", f"{first},{it.broker}", "--throttle", "1K", "--no-wait")
    it.odradek("partition", "reassign", it.topic, "-p", "0", *words)
    it.kill()


def move_cancelled(it: Ground) -> None:
    """Put back; then the broker comes, and the throttle goes."""
    it.as_documented("ReassignmentWaits", "partition reassign --cancel")
    it.start()
    it.odradek("partition", "throttle", "none")


def deletion_waits(it: Ground) -> None:
    """A replica of it is on a broker that is gone."""
    it.cluster.place(it.topic, [it.broker, it.others[0]])
    it.kill()
    it.cluster.await_gone(it.broker, it.topic)
    it.odradek("topic", "delete", it.topic, "--yes")


def withheld(it: Ground) -> None:
    """The only broker that is preferred as the controller is gone."""
    it.odradek("controller", "prefer", str(it.broker))
    it.odradek("config", "alter", "broker", "-s", f"{FALLBACK}=false")
    if it.cluster.controller() != it.broker:
        it.odradek("controller", "move", str(it.broker))
    it.kill()


def another_preferred(it: Ground) -> None:
    """One that lives; later all may be it again."""
    gone, it.broker = it.broker, it.others[0]
    it.as_documented("ControllerWithheld", "controller prefer 2")
    eventually(lambda: it.cluster.controller() == it.broker, what="it is the controller")
    it.odradek("config", "alter", "broker", "-d", FALLBACK)
    chosen, it.broker = it.broker, gone
    it.start()
    for number in (gone, chosen):
        it.odradek("controller", "unprefer", str(number), "--yes")


def without_records(it: Ground) -> None:
    """The leader dies, and its follower was away while it wrote."""
    other = it.others[0]
    it.cluster.place(it.topic, [it.broker, other])
    it.cluster.brokers[other].stop()
    it.odradek("produce", it.topic, said=b"a\n")
    it.kill()
    it.cluster.brokers[other].start()


def elected_unclean(it: Ground) -> None:
    """It is decided that the other does not come back; it does all the same."""
    it.as_documented("OfflinePartitions", "partition elect orders --unclean")
    it.start()


def above_replicas(it: Ground) -> None:
    """A topic asks for more replicas in sync than it has."""
    it.cluster.place(it.topic, [it.broker, it.others[0]], **{"min.insync.replicas": "3"})


def as_many_as_replicas(it: Ground) -> None:
    """Health names the setting."""
    it.odradek("config", "alter", "topic", it.topic, "-s", "min.insync.replicas=2")


def leads_elsewhere(it: Ground) -> None:
    """It advertises the address of another, and waits for a controller that does not reach it."""
    it.without()
    broker, other = it.cluster.brokers[it.broker], it.cluster.brokers[it.others[0]]
    broker.stop()
    broker._settings["advertised.listeners"] = f"PLAINTEXT://{other.bootstrap}"
    broker.launch()


def leads_to_itself(it: Ground) -> None:
    """The other has kept its own roles, and answers groups."""
    broker = it.cluster.brokers[it.broker]
    broker.stop()
    del broker._settings["advertised.listeners"]
    it.start()
    it.odradek("consume", "kept", "-e", "-g", f"readers-{it.topic}")


FALLBACK: Final = "allow.preferred.controller.fallback"
FAULTS: Final = (
    Fault(killed, "broker BROKER is not registered\tout of sync", Ground.start),
    Fault(stands_still, "no answer from broker BROKER|broker BROKER is not registered", goes_on),
    Fault(alone, "broker BROKER is not registered\tno leader\t1 \\(TOPIC: 0\\)", Ground.start),
    Fault(
        below_min_isr,
        "broker BROKER is not registered\tfewer in sync than min.insync.replicas\t.*TOPIC: 0",
        Ground.start,
    ),
    Fault(dir_offline, "broker BROKER: \\S+/disk-b\tlog dir offline", dir_replaced),
    Fault(zookeeper_away, "ZooKeeper is away", zookeeper_back),
    Fault(
        throttle_left, "a throttle of .* and nothing is moved: .*\tthrottle left", throttle_taken
    ),
    Fault(
        move_waits, "broker BROKER is not registered\treassignment waits\t.*TOPIC", move_cancelled
    ),
    Fault(deletion_waits, "broker BROKER is not registered\tdeletion waits\t.*TOPIC", Ground.start),
    Fault(withheld, "no preferred broker lives.*\tnothing is decided", another_preferred),
    Fault(without_records, "broker BROKER is not registered\tno leader\t.*TOPIC", elected_unclean),
    Fault(
        above_replicas, "min.insync.replicas counts as the number of replicas", as_many_as_replicas
    ),
    Fault(leads_elsewhere, "this is broker .*, not BROKER.*no answer from", leads_to_itself),
)

WELL: Final = r"^healthy|^cause\tproblem\tpartitions\n[^\n]*\tcontroller moves often\t-\n\Z"
"""The controller dies now and then here, which is told for half an hour."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LiveCluster]:
    """Four brokers, whose sessions are short."""
    with LiveCluster(tmp_path / "cluster", brokers=4, settings=SETTINGS) as cluster:
        yield cluster


@pytest.mark.timeout(300)
def test_each_is_named_and_mended_by_the_documents(cluster: LiveCluster, odradek: Shell) -> None:
    """All kinds, once each; an order that nobody has thought of."""
    ground = Ground(cluster, odradek, random.Random(SEED))
    cluster.make("kept", 4)
    for number, fault in enumerate(ground.draws.sample(FAULTS, len(FAULTS))):
        ground.write()
        ground.draw(number)
        fault.make(ground)
        says = fault.says.replace("BROKER", str(ground.broker)).replace("TOPIC", ground.topic)
        _await_health(ground, fault, says)
        fault.mend(ground)
        _await_health(ground, fault, WELL)
    ground.check_kept()


def _await_health(ground: Ground, fault: Fault, says: str) -> None:
    last = ""

    def is_said() -> bool:
        nonlocal last
        last = ground.odradek.run("cluster", "health").out
        return re.search(says, last) is not None

    try:
        eventually(is_said, what=says)
    except AssertionError as error:
        error.add_note(f"seed {SEED}, {fault.make.__name__}, broker {ground.broker}:\n{last}")
        raise

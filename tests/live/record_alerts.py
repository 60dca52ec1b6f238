"""`python -m tests.live.record_alerts [NAME...]`: makes faults, and keeps what `/metrics` says.

Each on a cluster of its own; before, during and after. What is kept lies in tests/samples/alerts,
and tests/house/test_recorded_alerts.py gives it to Prometheus' own tool. A fault that is there as
long as nobody mends it is scraped faster than Prometheus does; each scrape counts as ten seconds.
Disks are mounted, so it takes root.
"""

import os
import resource
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple, cast

from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.client.blocking.cluster import BlockingCluster
from odradek.client.blocking.producer import (
    BlockingProducer,
    BlockingProducerSettings,
    InTransactions,
)
from odradek.client.records.sequencing import ProducerIdentity
from odradek.model.ids import ProducerId
from odradek.model.ids import TopicPartition as PartitionOfOurs
from odradek.model.positions import ProducerEpoch
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.wire.headers import request_frame
from odradek.wire.messages.metadata import MetadataRequest
from tests.external import tools
from tests.live.cluster import LiveCluster, OwnZookeeper
from tests.live.mounted_disks import MountedDisk
from tests.live.scraping import Scraping
from tests.live.secured import TLS
from tests.live.test_secured_cluster import SecuredBroker, SecuredCluster
from tests.live.workload import SteadyProducer
from tests.samples.certificate_files import certificates

KEPT: Final = tools.ROOT / "tests" / "samples" / "alerts"
SHIPPED_TICK_MS: Final = 2_000
SHIPPED_SECONDS: Final = 10.0
AWAY_SECONDS: Final = 12
BEFORE, DURING, AFTER = 3, 4, 6
MISSING: Final = "odradek_controller_missing_broker"
CONTROLLER: Final = "kafka_controller_kafkacontroller_"
FREE: Final = "odradek_log_dir_free_bytes"
LEFT: Final = "odradek_certificate_left_seconds"
STANDS: Final = "odradek_move_stands_seconds"
IDLE: Final = "networkprocessoravgidle_percent"
WITHOUT_DEFENCE: Final = {
    "transaction.partition.verification.enable": "false",
    "transaction.max.timeout.ms": "1000",
}
WITH_TLS: Final = {**TLS, "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:SSL"}


class Stage(NamedTuple):
    """A cluster, who looks at it, and what is closed at the end."""

    cluster: LiveCluster
    scraping: Scraping
    disk: MountedDisk | None
    open: ExitStack

    def odradek(self, *words: str) -> None:
        """The command, at the brokers that live."""
        living = [it.bootstrap for it in self.cluster.brokers.values() if it.has_process]
        variables = {"ODRADEK_BOOTSTRAP": ",".join(living), "PYTHONPATH": str(tools.ROOT / "src")}
        call = [sys.executable, "-m", "odradek", *words]
        subprocess.run(call, env={**os.environ, **variables}, check=True)

    def lead_by(self, number: int) -> None:
        """The controller is there."""
        if self.cluster.controller() != number:
            self.odradek("controller", "move", str(number))

    def fault(self) -> None:
        """It is made now."""
        self.scraping.see(BEFORE)
        self.scraping.mark("fault")

    def mended(self) -> None:
        """It is mended now."""
        self.scraping.see(DURING)
        self.scraping.mark("mended")

    def write(self, topic: str, records: int, size: int = 1_000) -> None:
        """Records of some bytes."""
        producer = Producer({"bootstrap.servers": self.cluster.bootstrap})
        for _ in range(records):
            producer.produce(topic, bytes(size))
            producer.poll(0)
        producer.flush(60)

    def kill(self, *numbers: int) -> None:
        """These brokers."""
        for number in numbers:
            self.cluster.brokers[number].kill()

    def start(self, *numbers: int) -> None:
        """These brokers."""
        for number in numbers:
            self.cluster.brokers[number].start()


class Fault(NamedTuple):
    """How it is made, and how often scrapes look."""

    make: Callable[[Stage], None]
    every: float = 2.0
    settings: Mapping[str, str] = {}
    on_a_disk: bool = False
    kind: type[LiveCluster] = LiveCluster


def vanishes(it: Stage) -> None:
    """The machine of a broker stands still: nothing is closed, nothing answers."""
    it.cluster.place("orders", [1, 2, 3], [2, 3, 1])
    it.lead_by(1)
    it.fault()
    it.cluster.brokers[3].pause()
    it.scraping.see_until(MISSING)
    it.mended()
    it.cluster.brokers[3].resume()


def all_gone(it: Stage) -> None:
    """No broker lives."""
    it.fault()
    it.kill(1, 2, 3)
    it.mended()
    it.start(1, 2, 3)


def no_leader(it: Stage) -> None:
    """The only replica is on a broker that is gone."""
    it.cluster.place("lone", [3])
    it.lead_by(1)
    it.fault()
    it.kill(3)
    it.scraping.see_until(f"{CONTROLLER}offlinepartitionscount")
    it.mended()
    it.start(3)


def zookeeper_away(it: Stage) -> None:
    """ZooKeeper ends, and then the broker that was the controller."""
    it.lead_by(3)
    it.fault()
    it.cluster.zookeeper.kill()
    it.kill(3)
    it.mended()
    it.cluster.zookeeper.start()
    it.start(3)


def moves_often(it: Stage) -> None:
    """The controller goes from broker to broker."""
    it.lead_by(3)
    it.fault()
    for number in (1, 2, 3, 1, 2):
        it.lead_by(number)
        it.scraping.see(1)
    it.mended()


def under_min_isr(it: Stage) -> None:
    """Writes are refused, since a replica is missing."""
    it.cluster.place("orders", [1, 3], **{"min.insync.replicas": "2"})
    it.lead_by(1)
    it.fault()
    it.kill(3)
    it.scraping.see_until("underminisr")
    it.mended()
    it.start(3)


def _written(it: Stage) -> MountedDisk:
    """A disk of broker 1 that is written to all the time."""
    assert it.disk is not None
    it.cluster.place("orders", *([[1, 2, 3]] * 6))
    it.lead_by(2)
    it.open.enter_context(SteadyProducer(it.cluster.bootstrap, "orders", 6, pause=0.2))
    return it.disk


def disk_fails(it: Stage) -> None:
    """Each call fails; then an empty one is in its place."""
    disk = _written(it)
    it.fault()
    disk.break_down()
    it.scraping.see_until("logdirectoryoffline")
    it.mended()
    disk.pull()
    disk.insert()
    it.odradek("logdirs", "replace", str(disk.path), "--broker", "1")


def disk_hangs(it: Stage) -> None:
    """No call returns; after a minute it is given up."""
    disk = _written(it)
    it.fault()
    disk.freeze()
    it.scraping.see_until("odradek_log_dir_hangs")
    it.scraping.see_until("logdirectoryoffline")
    it.mended()
    disk.thaw()
    it.kill(1)
    it.start(1)


def disk_wears(it: Stage) -> None:
    """The system counts an error of its file system."""
    disk = _written(it)
    device = subprocess.run(
        ["findmnt", "-no", "SOURCE", str(disk.path)], capture_output=True, text=True, check=True
    )
    it.fault()
    it.scraping.see(25)  # it has been looked at once
    name = Path(device.stdout.strip()).name
    Path(f"/sys/fs/ext4/{name}/trigger_fs_error").write_text("odradek")
    it.scraping.see_until("odradek_log_dir_warns")
    it.mended()
    it.kill(1)
    disk.pull()
    disk.insert()
    it.start(1)


def disk_fills(it: Stage) -> None:
    """A tenth of a megabyte in each second."""
    assert it.disk is not None
    it.cluster.place("orders", *([[1, 2, 3]] * 6))
    it.lead_by(2)
    it.scraping.see_until(FREE)
    it.fault()
    with SteadyProducer(it.cluster.bootstrap, "orders", 6, pause=0.05):
        ballast = (it.disk.path / "ballast").open("wb")
        with ballast:
            for _ in range(200):
                ballast.write(os.urandom(100_000))
                ballast.flush()
                it.scraping.see(1)
    it.mended()
    (it.disk.path / "ballast").unlink()


def nearly_full(it: Stage) -> None:
    """Something else takes what the disk had left."""
    disk = _written(it)
    it.scraping.see_until(FREE)
    it.fault()
    disk.fill()
    it.scraping.see_until(FREE, most=1e6)
    it.mended()
    (disk.path / "full").unlink()
    it.scraping.see(25)  # it is looked at every thirty seconds


def withheld(it: Stage) -> None:
    """The only broker that is preferred as the controller is gone."""
    it.odradek("controller", "prefer", "3")
    it.odradek("config", "alter", "broker", "-s", "allow.preferred.controller.fallback=false")
    it.lead_by(3)
    it.fault()
    it.kill(3)
    it.scraping.see_until("odradek_controller_withheld")
    it.mended()
    it.start(3)


def unclean(it: Stage) -> None:
    """A replica leads that was away while others wrote."""
    it.cluster.place("orders", [1, 2])
    it.lead_by(3)
    it.fault()
    it.cluster.brokers[2].stop()
    it.write("orders", 10)
    it.kill(1)
    it.start(2)
    it.odradek("partition", "elect", "orders", "--unclean", "--yes")
    it.scraping.see_until("uncleanleaderelections")
    it.mended()
    it.start(1)


def flooded(it: Stage) -> None:
    """A client asks one broker for all metadata, as fast as it can."""
    it.cluster.make("orders", 100)
    broker = it.cluster.brokers[3]
    frame = b"".join(
        cast("list[bytes]", request_frame(MetadataRequest(topics=None), 9, 0, "flood"))
    )
    it.fault()
    over = threading.Event()

    def flood() -> None:
        with socket.create_connection((broker.host, broker.port)) as connection:
            while not over.is_set():
                connection.sendall(frame * 8)
                connection.recv(1 << 20)

    floods = [threading.Thread(target=flood) for _ in range(4)]
    for thread in floods:
        thread.start()
    it.scraping.see_until(IDLE, most=0.1)
    it.mended()
    over.set()
    for thread in floods:
        thread.join()


def certificate_ends(it: Stage) -> None:
    """A broker has a certificate for three days more, and then one that has ended."""
    broker = it.cluster.brokers[3]
    assert isinstance(broker, SecuredBroker)
    it.fault()
    broker.certificate.write_bytes(_for_three_days(broker.directory))
    it.scraping.see(12)
    shutil.copy(certificates("old.pem"), broker.certificate)
    it.scraping.see_until(LEFT, most=0)
    it.mended()
    shutil.copy(certificates("broker.pem"), broker.certificate)


def _for_three_days(folder: Path) -> bytes:
    key, found = folder / "key.pem", folder / "three-days.pem"
    made = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 3"
    call = ["openssl", "req", "-x509", *made.split(), "-keyout", str(key), "-out", str(found)]
    subprocess.run(call, capture_output=True, check=True)
    return found.read_bytes() + key.read_bytes()


def move_waits(it: Stage) -> None:
    """A replica is to come to a broker that is gone."""
    it.cluster.place("orders", [1, 2])
    it.lead_by(1)
    it.write("orders", 6_000)
    it.fault()
    slow = ("--replicas", "1,3", "--throttle", "1K", "--no-wait")
    it.odradek("partition", "reassign", "orders", *slow)
    it.kill(3)
    it.scraping.see_until("waiting_reassignments")
    it.mended()
    it.odradek("partition", "reassign", "--cancel")
    it.start(3)


def move_stands(it: Stage) -> None:
    """Throttles let a reassignment and a log dir move go on in days: a batch, and then nothing."""
    it.cluster.place("orders", [1, 2])
    it.cluster.place("lone", [1])
    it.write("orders", 6_000)
    it.write("lone", 6_000)
    (disk,) = it.cluster.brokers[1].directory.glob("disk-*/lone-0")
    other = next(one for one in disk.parent.parent.glob("disk-*") if one != disk.parent)
    it.fault()
    slow = ("--throttle", "1", "--no-wait")
    it.odradek("partition", "reassign", "orders", "--replicas", "1,3", *slow)
    it.odradek("logdirs", "move", str(other), "lone", "--broker", "1", *slow)
    for kind in ("reassignment", "log dir"):
        it.scraping.see_until(f'{STANDS}{{kind="{kind}"', least=300)
    it.mended()
    it.odradek("partition", "throttle", "none")
    for kind in ("reassignment", "log dir"):
        it.scraping.see_until(f'{STANDS}{{kind="{kind}"', most=0)


def long_move(it: Stage) -> None:
    """Replicas are copied for long: they are not missing."""
    it.cluster.place("orders", [1, 2])
    it.write("orders", 6_000)
    it.fault()
    slow = ("--replicas", "1,3", "--throttle", "1K", "--no-wait")
    it.odradek("partition", "reassign", "orders", *slow)
    it.mended()
    it.odradek("partition", "throttle", "none")


def deletion_waits(it: Stage) -> None:
    """A broker that has a replica of it is gone."""
    it.cluster.place("orders", [1, 3])
    it.lead_by(1)
    it.fault()
    it.kill(3)
    it.cluster.await_gone(3, "orders")
    it.odradek("topic", "delete", "orders", "--yes")
    it.scraping.see_until("topicsineligibletodeletecount")
    it.mended()
    it.start(3)


def many_files(it: Stage) -> None:
    """Connections take most of the files that the process may open."""
    broker = it.cluster.brokers[3]
    it.fault()
    resource.prlimit(broker.pid, resource.RLIMIT_NOFILE, (400, 400))
    with ExitStack() as connections:
        for _ in range(320):
            connections.enter_context(socket.create_connection((broker.host, broker.port)))
        it.scraping.see(2)
        it.mended()


def group_behind(it: Stage) -> None:
    """A group stands still, of whose partitions its coordinator leads one of three at most."""
    it.cluster.place("orders", [1, 2, 3], [2, 3, 1], [3, 1, 2])
    it.lead_by(1)
    it.write("orders", 30)
    _read_to_the_end(it.cluster.bootstrap)
    it.fault()
    it.write("orders", 12_000, 100)
    it.mended()
    _read_to_the_end(it.cluster.bootstrap)


def _read_to_the_end(bootstrap: str) -> None:
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": "readers"})
    ends = [TopicPartition("orders", it) for it in range(3)]
    for end in ends:
        _, end.offset = reader.get_watermark_offsets(end, timeout=30)
    reader.commit(offsets=ends, asynchronous=False)
    reader.close()


def transaction_hangs(it: Stage) -> None:
    """A batch opens one that no coordinator knows of; then an operator ends it."""
    it.cluster.place("orders", [1, 2, 3])
    it.fault()
    cluster = BlockingCluster(it.cluster.bootstrap, "nobody")
    whose = InTransactions("nobody", ProducerIdentity(ProducerId(900), ProducerEpoch(0)), 9)
    producer = BlockingProducer(cluster, BlockingProducerSettings(), whose)
    now = int(time.time() * 1_000)
    producer.send(PartitionOfOurs("orders", 0), build_batch([Record(0, now, None, b"open")]))
    producer.flush()
    cluster.close()
    it.scraping.see_until("partitionswithlatetransactionscount")
    it.mended()
    it.odradek("transaction", "abort", "orders", "0", "0", "--yes")


def rolled(it: Stage) -> None:
    """All brokers are restarted, each away for some seconds."""
    it.cluster.place("orders", [1, 2, 3], [2, 3, 1])
    it.fault()
    folder = it.open.enter_context(_restarted_slowly(it.cluster))
    call = f"touch {shlex.quote(str(folder))}/{{broker}}"
    it.odradek("cluster", "roll", "--command", call, "--patience", "120")
    it.mended()


@contextmanager
def _restarted_slowly(cluster: LiveCluster) -> Iterator[Path]:
    """A broker whose number appears as a file."""
    over = threading.Event()

    def run(folder: Path) -> None:
        while not over.wait(0.2):
            for file in folder.iterdir():
                file.unlink()
                cluster.brokers[int(file.name)].stop()
                over.wait(AWAY_SECONDS)
                cluster.brokers[int(file.name)].start()

    with tempfile.TemporaryDirectory() as name:
        thread = threading.Thread(target=run, args=(Path(name),))
        thread.start()  # the brokers that it starts end with it
        try:
            yield Path(name)
        finally:
            over.set()
            thread.join()


FAULTS: Final = {
    "broker-vanishes": Fault(vanishes, SHIPPED_SECONDS),
    "all-brokers-gone": Fault(all_gone),
    "no-leader": Fault(no_leader),
    "zookeeper-away": Fault(zookeeper_away),
    "controller-moves-often": Fault(moves_often),
    "under-min-isr": Fault(under_min_isr),
    "disk-fails": Fault(disk_fails, on_a_disk=True),
    "disk-hangs": Fault(disk_hangs, SHIPPED_SECONDS, on_a_disk=True),
    "disk-wears": Fault(disk_wears, on_a_disk=True),
    "disk-fills-up": Fault(disk_fills, 1.0, on_a_disk=True),
    "disk-nearly-full": Fault(nearly_full, on_a_disk=True),
    "controller-withheld": Fault(withheld),
    "unclean-election": Fault(unclean, settings={"min.insync.replicas": "1"}),
    "event-loop-busy": Fault(flooded),
    "certificate-ends": Fault(certificate_ends, settings=WITH_TLS, kind=SecuredCluster),
    "reassignment-waits": Fault(move_waits, settings={"min.insync.replicas": "1"}),
    "move-stands": Fault(move_stands, SHIPPED_SECONDS),
    "long-move": Fault(long_move),
    "deletion-waits": Fault(deletion_waits, settings={"min.insync.replicas": "1"}),
    "many-files": Fault(many_files),
    "group-behind": Fault(group_behind),
    "transaction-hangs": Fault(transaction_hangs, SHIPPED_SECONDS, settings=WITHOUT_DEFENCE),
    "rolling-restart": Fault(rolled, SHIPPED_SECONDS),
}


def record(name: str, folder: Path) -> None:
    """One fault, from a cluster that is well to one that is well again."""
    fault = FAULTS[name]
    settings = {
        "admin.listener": "127.0.0.1:@",
        "offsets.topic.num.partitions": "1",
        **fault.settings,
    }
    with ExitStack() as stack:
        path = folder / "broker-1" / "disk-a"
        disk = stack.enter_context(MountedDisk(path)) if fault.on_a_disk else None
        zookeeper = OwnZookeeper(folder / "zookeeper", tick_ms=SHIPPED_TICK_MS)
        cluster = fault.kind(folder, settings=settings, zookeeper=zookeeper)
        stack.enter_context(cluster)
        scraping = stack.enter_context(Scraping(cluster, fault.every))
        with ExitStack() as closed:
            fault.make(Stage(cluster, scraping, disk, closed))
            scraping.see(AFTER)
    scraping.keep(KEPT / f"{name}.json")


def main(names: Sequence[str]) -> None:
    """All, or those that are named."""
    for name in names or FAULTS:
        with tempfile.TemporaryDirectory() as folder:
            record(name, Path(folder))
        print(f"{name} is kept", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])

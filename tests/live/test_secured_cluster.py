"""Three brokers that prove their names to each other, by SCRAM over TLS."""

import re
import shutil
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.external.ports import free_port
from tests.live.cluster import ClusterBroker, LiveCluster
from tests.live.secured import TLS, login
from tests.samples.certificate_files import certificates

MECHANISM = "SCRAM-SHA-512"
SECRET = "broker-secret"
RECORDS = 500
SETTINGS = {
    **TLS,
    "admin.listener": "127.0.0.1:@",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,BROKERS:SASL_SSL",
    "inter.broker.listener.name": "BROKERS",
    "sasl.enabled.mechanisms": MECHANISM,
    "sasl.mechanism.inter.broker.protocol": MECHANISM,
    "listener.name.brokers.scram-sha-512.sasl.jaas.config": login(MECHANISM, "broker", SECRET),
}


class SecuredBroker(ClusterBroker):
    """With a listener for brokers, and a certificate of its own."""

    def __init__(self, directory: Path, number: int, **settings: str) -> None:
        super().__init__(directory, number, **settings)
        directory.mkdir(parents=True, exist_ok=True)
        self.certificate = directory / "broker.pem"
        shutil.copy(certificates("broker.pem"), self.certificate)
        own = f"PLAINTEXT://{self.host}:{self.port},BROKERS://localhost:{free_port()}"
        self._settings |= {"listeners": own, "ssl.keystore.location": str(self.certificate)}


class SecuredCluster(LiveCluster):
    """The user of the brokers is there before the first of them."""

    kind = SecuredBroker
    brokers: dict[int, SecuredBroker]  # type: ignore[assignment]


@pytest.fixture
def shell(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command."""
    return Shell(capfdbinary, monkeypatch)


@pytest.fixture
def cluster(tmp_path: Path, shell: Shell) -> Iterator[SecuredCluster]:
    """Three of them."""
    cluster = SecuredCluster(tmp_path / "cluster", 0, SETTINGS)
    with cluster:
        first = ("--zookeeper", cluster.zookeeper.connect_string, "--alter", "--entity-type")
        password = f"{MECHANISM}=[iterations=8192,password={SECRET}]"
        shell("kafka-configs", *first, "users", "--entity-name", "broker", "--add-config", password)
        cluster.add(1, 2, 3)
        yield cluster


def test_a_leader_is_lost(cluster: SecuredCluster) -> None:
    """What was acknowledged is on the others, which have fetched it by TLS."""
    cluster.make("orders", partitions=3)
    acknowledged: list[int] = []
    gone = 0
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "log_level": 0}
    producer = Producer({**settings, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(
            "orders",
            b"%d" % number + bytes(2_000),
            on_delivery=lambda error, _, it=number: acknowledged.extend([] if error else [it]),
        )
        if number == RECORDS // 2:
            producer.flush(30)
            gone = cluster.partitions("orders")[0][0]
            cluster.brokers[gone].kill()
    assert producer.flush(60) == 0
    assert sorted(acknowledged) == list(range(RECORDS))
    cluster.brokers[gone].start()
    cluster.await_isr("orders", 3)
    cluster.check_replicas_equal("orders")
    assert SECRET not in cluster.logs()


def test_a_certificate_is_exchanged(cluster: SecuredCluster) -> None:
    """A file that cannot be used is said, and the old one holds on; a good one is taken over."""
    broker = cluster.brokers[1]
    broker.certificate.write_text("nonsense")
    eventually(lambda: "tls.not_reloaded" in broker.log(), what="the bad one is said")
    shutil.copy(certificates("elsewhere.pem"), broker.certificate)
    eventually(lambda: "tls.reloaded" in broker.log(), what="the good one is taken over")


def test_a_certificate_that_ends(cluster: SecuredCluster, shell: Shell) -> None:
    """Its broker says so, `/metrics` and `cluster health`; while it runs, and at a start."""
    broker = cluster.brokers[1]
    shell.bootstrap = broker.bootstrap
    assert shell.run("cluster", "health").code == 0
    shutil.copy(certificates("old.pem"), broker.certificate)
    eventually(lambda: "tls.certificate_ended" in broker.log(), what="it is said")
    ended = shell.run("cluster", "health")
    assert ended.code == 1
    assert "listener BROKERS ends 2021-01-01T00:00:00+00:00\tcertificate has ended" in ended.out
    assert _left(broker) < 0
    shutil.copy(certificates("broker.pem"), broker.certificate)
    eventually(lambda: _left(broker) > 0, what="the good one is taken over")
    broker.stop()
    shutil.copy(certificates("old.pem"), broker.certificate)
    broker.launch()
    eventually(lambda: broker.log().count("tls.certificate_ended") == 2, what="it is said again")
    shutil.copy(certificates("broker.pem"), broker.certificate)  # no other could tell it anything
    broker.await_start()


def _left(broker: SecuredBroker) -> int:
    with urllib.request.urlopen(f"http://{broker.pages}/metrics") as page:
        (found,) = re.findall(
            r'^odradek_certificate_left_seconds{listener="BROKERS"} (\S+)$',
            page.read().decode(),
            re.MULTILINE,
        )
    return int(found)

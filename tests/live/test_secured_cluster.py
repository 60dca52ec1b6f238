"""Three brokers that prove their names to each other, by SCRAM over TLS."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.external.zookeeper import free_port
from tests.live.cluster import ClusterBroker, LiveCluster
from tests.live.secured import TLS, login
from tests.samples.certificate_files import certificates

MECHANISM = "SCRAM-SHA-512"
SECRET = "broker-secret"
RECORDS = 500
SETTINGS = {
    **TLS,
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

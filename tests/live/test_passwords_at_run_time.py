"""A broker whose key store's password only ZooKeeper has, encrypted."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.compat.broker_process import eventually
from tests.compat.odradek_shell import Shell
from tests.external.ports import free_port
from tests.live.cluster import ClusterBroker, LiveCluster
from tests.samples.certificate_files import certificates

SECRET, PASSWORD = "encoder-7331", "key-secret"
OF_LISTENER = "listener.name.cert."
SETTINGS = {
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CERT:SSL",
    "inter.broker.listener.name": "PLAINTEXT",
    "ssl.keystore.location": certificates("broker.p12"),
    "password.encoder.secret": SECRET,
}


class CertifiedBroker(ClusterBroker):
    """With a listener that needs the key."""

    def __init__(self, directory: Path, number: int, **settings: str) -> None:
        super().__init__(directory, number, **settings)
        self.secured_port = free_port()
        own = f"PLAINTEXT://{self.host}:{self.port},CERT://localhost:{self.secured_port}"
        self._settings["listeners"] = own

    def certificate(self) -> bytes | None:
        """What a client is shown."""
        context = ssl.create_default_context(cafile=certificates("trusted.crt"))
        with (
            suppress(OSError),
            socket.create_connection(("localhost", self.secured_port)) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as secured,
        ):
            return secured.getpeercert(binary_form=True)
        return None


class CertifiedCluster(LiveCluster):
    """Of one broker."""

    kind = CertifiedBroker
    brokers: dict[int, CertifiedBroker]  # type: ignore[assignment]


@pytest.fixture
def shell(capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command."""
    return Shell(capfdbinary, monkeypatch)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[CertifiedCluster]:
    """ZooKeeper, and no broker yet."""
    with CertifiedCluster(tmp_path / "cluster", 0, SETTINGS) as cluster:
        yield cluster


def test_a_password_is_there_before_the_broker_and_changes_while_it_runs(
    cluster: CertifiedCluster, shell: Shell
) -> None:
    """As with Kafka: by the script to ZooKeeper, then by the broker."""
    alter = ("--alter", "--entity-type", "brokers", "--entity-name", "1", "--add-config")
    keeper = ("--zookeeper", cluster.zookeeper.connect_string)
    password = f"{OF_LISTENER}ssl.keystore.password={PASSWORD}"
    refused = shell.run("kafka-configs", *keeper, *alter, password)
    assert "password.encoder.secret must be named" in refused.err
    encoder = f"password.encoder.secret={SECRET},password.encoder.iterations=2048"
    said = shell("kafka-configs", *keeper, *alter, f"{password},{encoder}").out
    assert said == "Completed updating config for broker 1.\n"
    cluster.add(1)
    broker = cluster.brokers[1]
    first = broker.certificate()
    assert first is not None
    refused = shell.run("kafka-configs", *keeper, *alter, f"{password},{encoder}")
    assert "broker 1 runs: use --bootstrap-server" in refused.err
    shell.bootstrap = broker.bootstrap
    store = f"{OF_LISTENER}ssl.keystore.location={certificates('encrypted.pem')}"
    of_key = f"{OF_LISTENER}ssl.key.password={PASSWORD}"
    shell("kafka-configs", *alter, f"{store},{of_key}")
    eventually(lambda: "tls.reloaded" in broker.log(), what="the other store is taken over")
    described = shell(
        "kafka-configs", "--describe", "--entity-type", "brokers", "--entity-name", "1"
    )
    assert f"{OF_LISTENER}ssl.key.password=null sensitive=true" in described.out
    broker.stop()
    broker.start()
    assert broker.certificate() is not None
    for secret in (PASSWORD, SECRET):
        assert secret not in broker.log() + described.out

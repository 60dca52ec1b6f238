"""A cluster without security gets it under load, broker by broker: as Kafka's own upgrade test.

Three rolls: a listener with SASL and TLS beside the plain one; brokers speak to each other by it;
the plain listener goes. Meanwhile leaders and the controller move with each restart.
"""

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AdminClient

from tests.compat.broker_process import eventually
from tests.external.kafka import RealKafka
from tests.external.ports import free_port
from tests.live.cluster import ClusterBroker, LiveCluster
from tests.live.secured import PASSWORD, PLAIN_MODULE, TLS
from tests.live.workload import SteadyProducer, check_kept, check_once, read_all
from tests.samples.certificate_files import certificates

TOPIC: Final = "orders"
PLAIN_PARTITIONS: Final = 2
SECURED_PARTITIONS: Final = 2
USERS: Final = (
    f'username="broker" password="b-secret" user_broker="b-secret" user_alice="{PASSWORD}"'
)
ALICE: Final[dict[str, Any]] = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": PASSWORD,
    "ssl.ca.location": certificates("trusted.crt"),
    "enable.idempotence": True,
}
OPEN: Final = {
    "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
    "super.users": "User:ANONYMOUS;User:broker;User:alice",
}
SECURED: Final = {
    **TLS,
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.secured.plain.sasl.jaas.config": f"{PLAIN_MODULE} required {USERS};",
}


class Upgraded(ClusterBroker):
    """Plain at first."""

    def __init__(self, directory: Path, number: int, **settings: str) -> None:
        super().__init__(directory, number, **settings)
        self.secured_port = free_port()

    def restart(self, *listeners: str, **settings: str) -> None:
        """With these listeners."""
        ports = {"PLAINTEXT": self.port, "SECURED": self.secured_port}
        own = ",".join(f"{name}://localhost:{ports[name]}" for name in listeners)
        said = {name.replace("_", "."): text for name, text in settings.items()}
        self.stop()
        self._settings |= {**SECURED, **said, "listeners": own}
        self.start()


class UpgradedKafka(RealKafka):
    """Kafka 3.9, with the same settings."""

    host = "localhost"
    secured_port = 0
    asked_port = 0  # where it is to be heard, once it has started

    def restart(self, *listeners: str, **settings: str) -> None:
        """With these listeners."""
        self.secured_port = self.secured_port or free_port()
        ports = {"PLAINTEXT": self.port, "SECURED": self.secured_port}
        own = ",".join(f"{name}://localhost:{ports[name]}" for name in listeners)
        said = {name.replace("_", "."): text for name, text in settings.items()}
        store = {"ssl.keystore.type": "PEM"}  # ours look at what is in it
        self._settings = {**self._settings, **SECURED, **store, **said, "listeners": own}
        self.asked_port = ports[listeners[0]]
        self.stop()
        self.start()

    def _listens(self) -> bool:
        try:
            socket.create_connection((self.host, self.asked_port or self.port), timeout=1).close()
        except OSError:
            return False
        return True


class UpgradedCluster(LiveCluster):
    """Asked by its plain listeners as long as there are some."""

    kind = Upgraded
    kind_of_kafka = UpgradedKafka
    brokers: dict[int, Upgraded]  # type: ignore[assignment]
    kafkas: dict[int, UpgradedKafka]  # type: ignore[assignment]
    is_plain = True

    @property
    def upgraded(self) -> list[Upgraded | UpgradedKafka]:
        """One after the other."""
        return [*self.brokers.values(), *self.kafkas.values()]

    @property
    def secured(self) -> dict[str, Any]:
        """As alice's clients have it."""
        where = ",".join(f"localhost:{it.secured_port}" for it in self.upgraded)
        return {**ALICE, "bootstrap.servers": where}

    def admin(self) -> AdminClient:
        """A client of all."""
        return super().admin() if self.is_plain else AdminClient(self.secured)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[UpgradedCluster]:
    """Three of them."""
    with UpgradedCluster(tmp_path / "cluster", settings=OPEN) as cluster:
        yield cluster


def test_a_cluster_gets_security_under_load(cluster: UpgradedCluster) -> None:
    """With acks=all nothing is lost, doubled or failed; in the end nobody speaks without a name."""
    get_security(cluster)


@pytest.mark.timeout(240)
def test_a_kafka_among_us_gets_it_too(kafka_classpath: str, tmp_path: Path) -> None:
    """Two of ours and one of Kafka's in one tree: each leads, follows and controls meanwhile."""
    settings = {**OPEN, "offsets.topic.num.partitions": "3"}
    with UpgradedCluster(tmp_path / "cluster", 0, settings) as cluster:
        cluster.add_kafka(3, kafka_classpath)
        cluster.add(1, 2)
        assert cluster.controller() == 3
        get_security(cluster)
        assert cluster.controller() != 3


def get_security(cluster: UpgradedCluster) -> None:
    """Three rolls, with a producer on each listener."""
    both = ("PLAINTEXT", "SECURED")
    cluster.make(TOPIC, PLAIN_PARTITIONS + SECURED_PARTITIONS)
    plain = {"enable.idempotence": True}
    with SteadyProducer(cluster.bootstrap, TOPIC, PLAIN_PARTITIONS, **plain) as before:
        roll(cluster, before, lambda it: it.restart(*both))
        others = {"first": PLAIN_PARTITIONS, **cluster.secured}
        where = others.pop("bootstrap.servers")
        with SteadyProducer(where, TOPIC, SECURED_PARTITIONS, **others) as after:
            roll(cluster, after, lambda it: it.restart(*both, inter_broker_listener_name="SECURED"))
            before.stop()
            cluster.is_plain = False
            last = {
                "inter_broker_listener_name": "SECURED",
                "super_users": "User:broker;User:alice",
            }
            roll(cluster, after, lambda it: it.restart("SECURED", **last))
    assert not before.failed
    assert not after.failed
    found = read_all(where, TOPIC, PLAIN_PARTITIONS + SECURED_PARTITIONS, **ALICE)
    check_once(found)
    for producer in (before, after):
        check_kept(producer, found)
    for broker in cluster.upgraded:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("localhost", broker.port))
        assert "Traceback" not in broker.log()


def roll(
    cluster: UpgradedCluster,
    producer: SteadyProducer,
    restart: Callable[[Upgraded | UpgradedKafka], None],
) -> None:
    """One after the other; each is in sync before the next, and the producer goes on."""
    for broker in cluster.upgraded:
        restart(broker)
        cluster.await_isr(TOPIC, 3)
        count = producer.count()
        eventually(lambda: producer.count() > count, what="it goes on")  # noqa: B023

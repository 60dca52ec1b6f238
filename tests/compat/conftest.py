"""What the comparisons with other people's programs share."""

import logging
from collections.abc import Iterator
from typing import Final

import pytest
import structlog

from odradek.model.units import MIB
from tests.compat.broker_process import Broker, OdradekBroker, broker_in
from tests.compat.hostile import Neighbour, resident_bytes
from tests.compat.java_clients import Java
from tests.compat.odradek_shell import Shell, fresh
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.oracle import Oracle

GROWTH_MAX: Final = 64 * MIB

pytest.register_assert_rewrite(
    "tests.compat.zookeeper_contract", "tests.compat.zookeeper_own_contract"
)


@pytest.fixture(scope="module")
def our_zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurZookeeper]:
    """Our server, one for all tests of a file: use a root of your own in it.

    Not for longer: until it ends the logs of all tests are cut short, also where they are tested.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    server = OurZookeeper(tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server
    server.stop()
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One broker for all tests of a file: use topics and groups of your own in it."""
    running = broker_in(tmp_path_factory.mktemp("broker"))
    running.start()
    yield running
    running.stop()


@pytest.fixture
def odradek(
    broker: Broker, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """At our broker."""
    shell = Shell(capsysbinary, monkeypatch)
    shell.bootstrap = broker.bootstrap
    return shell


@pytest.fixture
def topic(odradek: Shell) -> str:
    """A new one, with two partitions and nothing in them."""
    name = fresh("orders")
    odradek("topic", "create", name, "-p", "2")
    return name


@pytest.fixture
def letters(odradek: Shell, topic: str) -> str:
    """A topic with the letters from a to h in its first partition."""
    odradek("produce", topic, "-p", "0", said=b"".join(b"%c\n" % it for it in b"abcdefgh"))
    return topic


@pytest.fixture(scope="module")
def neighbour(broker: Broker) -> Iterator[Neighbour]:
    """Who must not notice."""
    neighbour = Neighbour(broker)
    yield neighbour
    neighbour.close()


@pytest.fixture
def peace(broker: Broker, neighbour: Neighbour) -> Iterator[None]:
    """The neighbour goes on, and memory stays bounded, whatever the test does."""
    with neighbour.undisturbed():
        pass
    pid = broker.pid if isinstance(broker, OdradekBroker) else None
    before = 0 if pid is None else resident_bytes(pid)
    yield
    with neighbour.undisturbed():
        pass
    if pid is not None:
        assert resident_bytes(pid) - before < GROWTH_MAX


@pytest.fixture
def java_clients(kafka_in_java: Oracle, broker: Broker) -> Java:
    """Kafka's own, at our broker."""
    return Java(kafka_in_java, broker)

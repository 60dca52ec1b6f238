"""What the comparisons with other people's programs share."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from tests.compat.broker_process import Broker, broker_in
from tests.compat.java_clients import Java
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.oracle import Oracle

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


@pytest.fixture(scope="session")
def kafka_in_java(
    kafka_classpath: str, javac: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Oracle]:
    """Kafka's classes in one JVM, for all the tests of a worker."""
    assert javac, "asked for, so that it is installed"
    with Oracle(kafka_classpath, tmp_path_factory.mktemp("java") / "log") as oracle:
        yield oracle


@pytest.fixture
def java_clients(kafka_in_java: Oracle, broker: Broker) -> Java:
    """Kafka's own, at our broker."""
    return Java(kafka_in_java, broker)

"""What the comparisons with other people's programs share."""

from collections.abc import Iterator

import pytest

from tests.external.oracle import Oracle

pytest.register_assert_rewrite(
    "tests.compat.zookeeper_contract", "tests.compat.zookeeper_own_contract"
)


@pytest.fixture(scope="session")
def kafka_in_java(
    kafka_classpath: str, javac: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Oracle]:
    """Kafka's classes in one JVM, for all the tests of a worker."""
    assert javac, "asked for, so that it is installed"
    with Oracle(kafka_classpath, tmp_path_factory.mktemp("java") / "log") as oracle:
        yield oracle

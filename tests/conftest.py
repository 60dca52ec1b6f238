"""What all tests share: the programs from outside Python that some of them ask for.

A test asks by naming one of these fixtures; it is then marked `external` by itself:

- `kafka_classpath`: the jars of Kafka 3.9.1 (clients, server, tools) and of ZooKeeper 3.8.4
- `newest_clients`: the jars of Kafka's newest Java clients
- `spark_connector`: the jars of Spark's Kafka connector, to be used with the PySpark of the pins
- `java`, `javac`, `kcat`, `promtool`: the paths of these programs
- `franz`, `kafkajs`: our programs around franz-go and KafkaJS
- `franz_tests`: franz-go's own tests, as one program
- `librdkafka_tests`: some of librdkafka's own tests, as one program
- `kafka_in_java`: Kafka's classes in one JVM
- `real_zookeeper`: a ZooKeeper server, one for all tests of a worker: use a root of your own in it

`./dev test` installs what a test asks for and the machine lacks before that test begins; see
`tests/external/tools.py`. Where that cannot be, the tests are skipped, and each reason is named
once at the end. With `CI=true` they fail instead.
"""

import gc
import os
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, settings

from tests import longest_first, told_at_the_end
from tests.external import tools
from tests.external.oracle import Oracle
from tests.external.zookeeper import RealZookeeper

settings.register_profile(
    "odradek",
    deadline=None,  # how long an example takes is not what a test is about: machines are loaded
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,  # so that a failure elsewhere can be had here
)
settings.load_profile("odradek")


def pytest_itemcollected(item: pytest.Item) -> None:
    """`-m "not external"` leaves out whatever needs a tool, without a mark on each test."""
    if wanted_by(item):
        item.add_marker(pytest.mark.external)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In the processes of `--numprocesses`, which hand on whole files in this order."""
    if hasattr(config, "workerinput"):
        longest_first.sort(items)


def pytest_collection_finish() -> None:
    """What was collected stays to the end; each simulated world would look through it."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Installs what the test wants before its time begins: that takes long, and others go on."""
    for name in wanted_by(item):
        with suppress(tools.Missing):
            tools.provide(name)
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter,
) -> Generator[None, None, None]:
    """One line for each tool that was missed; last where the time went, and what to do next."""
    skipped = [r for r in terminalreporter.getreports("skipped") if "external" in r.keywords]
    reasons = Counter(str(report.longrepr[2]) for report in skipped)
    for reason, count in sorted(reasons.items()):
        terminalreporter.write_line(
            f"{count} tests not run: {reason.removeprefix('Skipped: ')}", yellow=True
        )
    yield
    told = [it for kind in terminalreporter.stats.values() for it in kind]
    parts = list(told_at_the_end.parts(it for it in told if isinstance(it, pytest.TestReport)))
    for line in parts if len(parts) > 1 else ():
        terminalreporter.write_line(line)
    failed = [*terminalreporter.getreports("failed"), *terminalreporter.getreports("error")]
    seed = terminalreporter.config.getoption("randomly_seed", None)
    for line in told_at_the_end.commands(failed, seed):
        terminalreporter.write_line(f"alone: {line}")


def wanted_by(item: pytest.Item) -> list[str]:
    """The tools among the fixtures of a test, those that its fixtures ask for included."""
    return [name for name in getattr(item, "fixturenames", ()) if name in tools.TOOLS]


def found(name: str) -> str:
    """Where the tool is; without it the test ends here: skipped, or failed where CI wants all."""
    try:
        return tools.provide(name)
    except tools.Missing as missing:
        reason = str(missing)
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def java() -> str:
    """Runs Java's programs."""
    return found("java")


@pytest.fixture(scope="session")
def javac() -> str:
    """Compiles our own small Java programs."""
    return found("javac")


@pytest.fixture(scope="session")
def kcat() -> str:
    """The command-line client on top of librdkafka."""
    return found("kcat")


@pytest.fixture(scope="session")
def promtool() -> str:
    """Checks alerts as Prometheus would evaluate them."""
    return found("promtool")


@pytest.fixture(scope="session")
def franz() -> str:
    """Produces and consumes by franz-go."""
    return found("franz")


@pytest.fixture(scope="session")
def franz_tests() -> str:
    """Tests franz-go against a broker, as those who make it do."""
    return found("franz_tests")


@pytest.fixture(scope="session")
def kafkajs() -> str:
    """Copies by KafkaJS; a program for `node`."""
    return found("kafkajs")


@pytest.fixture(scope="session")
def librdkafka_tests() -> str:
    """Tests librdkafka's transactions against a broker, as those who make it do."""
    return found("librdkafka_tests")


@pytest.fixture(scope="session")
def kafka_classpath() -> str:
    """What to give Java as `-cp`, for Kafka's clients, server and tools and for ZooKeeper's."""
    return found("kafka_classpath")


@pytest.fixture(scope="session")
def newest_clients() -> str:
    """What to give Java as `-cp`, for clients that speak version 2 of transactions."""
    return found("newest_clients")


@pytest.fixture(scope="session")
def spark_connector() -> str:
    """What to give Spark as `spark.jars`, for its own Kafka connector."""
    return found("spark_connector")


@pytest.fixture(scope="session")
def kafka_in_java(
    kafka_classpath: str, javac: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Oracle]:
    """Kafka's classes in one JVM, for all the tests of a worker."""
    assert javac, "asked for, so that it is installed"
    with Oracle(kafka_classpath, tmp_path_factory.mktemp("java") / "log") as oracle:
        yield oracle


@pytest.fixture(scope="session")
def real_zookeeper(
    kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RealZookeeper]:
    """A ZooKeeper that answers. Tests that stop one make their own, with the class."""
    server = RealZookeeper(kafka_classpath, tmp_path_factory.mktemp("zookeeper"))
    server.start()
    yield server
    server.stop()

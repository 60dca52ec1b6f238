"""What the tests with Spark share. They run in an environment of their own: `./dev test pipelines`.

Elsewhere none of them is collected. There is one session for all of them, with Spark's own Kafka
connector beside our source, so that both read the same topics of the same broker.
"""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any, Final

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.pipelines.topics import Topics

COLLECTED: Final = find_spec("pyspark") is not None
collect_ignore_glob = [] if COLLECTED else ["*"]

os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
"""Of each Java that Spark starts here: few of them live long enough to be worth optimizing."""

HANGS_AFTER_S: Final = 1_200
"""The one limit of time here. Commands start Java: where others work, too, that takes a minute."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Warnings of Spark and of its libraries are theirs."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("default"))
        item.add_marker(pytest.mark.timeout(HANGS_AFTER_S))


@pytest.fixture(scope="session")
def spark(spark_connector: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A local session of two slots with a gigabyte."""
    from odradek.pipelines import session

    folder = tmp_path_factory.mktemp("spark")
    found = session(
        "local[2]",
        conf={
            "spark.jars": spark_connector,
            "spark.driver.memory": "1g",
            "spark.local.dir": str(folder / "local"),
            "spark.eventLog.enabled": "true",  # what a history server shows
            "spark.eventLog.dir": str(folder),
            "spark.eventLog.compress": "false",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.sql.shuffle.partitions": "2",
        },
    )
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OdradekBroker]:
    """Our broker, one for all tests: use topics of your own in it."""
    running = OdradekBroker(tmp_path_factory.mktemp("broker") / "broker")
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="session")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Spark Connect server, for commands that would start a Java of their own otherwise."""
    from tests.pipelines.programs import connect_server

    with connect_server(tmp_path_factory.mktemp("connect")) as url:
        yield url


@pytest.fixture
def topics(broker: OdradekBroker, request: pytest.FixtureRequest) -> Topics:
    """Makes and fills topics of this test: modules share a broker, and may share names of tests."""
    module = request.module.__name__.rpartition(".")[2]
    return Topics(broker.bootstrap, f"{module}.{request.node.name}")


@pytest.fixture(scope="session")
def bucket() -> Iterator[dict[str, str]]:
    """A bucket `lake`, as the options of a store."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    options = {
        "endpoint": endpoint,
        "region": "us-east-1",
        "access_key_id": "test",
        "secret_access_key": "test",
    }
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    client.create_bucket(Bucket="lake")
    yield options
    server.stop()

"""The real ZooKeeper that others are compared with: it is there, and it is what we asked for."""

from pathlib import Path

from kazoo.client import KazooClient

from tests.external.zookeeper import RealZookeeper


def test_it_is_the_version_that_kafka_uses(real_zookeeper: RealZookeeper) -> None:
    """A comparison with some other ZooKeeper would prove something else."""
    assert real_zookeeper.command("srvr").startswith("Zookeeper version: 3.8.4-")


def test_its_data_survives_a_crash_of_its_process(kafka_classpath: str, tmp_path: Path) -> None:
    """A test of reconnecting kills the server and starts it again, on the same port and data."""
    server = RealZookeeper(kafka_classpath, tmp_path / "zookeeper")
    server.start()
    client = KazooClient(server.connect_string)
    try:
        client.start()
        client.create("/kept", b"bytes")
        server.kill()
        server.start()
        assert client.retry(client.get, "/kept")[0] == b"bytes"
    finally:
        client.stop()
        client.close()
        server.stop()

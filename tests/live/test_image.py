"""The image's start scripts, run as the scripts of testcontainers run them."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.external.tools import ROOT

SPACES: Final = (
    *("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork"),
    "--kill-child",
)
ANY_NODE: Final = {
    "KAFKA_BROKER_ID": "1",
    "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "KAFKA_LOG_DIRS": "/var/lib/odradek/disk-1",
}
WITH_ZOOKEEPER: Final = {
    **ANY_NODE,
    "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
}
KRAFT: Final = {
    **ANY_NODE,
    "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
    "KAFKA_REST_BOOTSTRAP_SERVERS": "PLAINTEXT://0.0.0.0:9093",
    "KAFKA_LISTENERS": ("PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094"),
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
        "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    ),
}
ADVERTISE: Final = (
    "export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://127.0.0.1:9093,BROKER://127.0.0.1:9092\n"
)
OWN_ZOOKEEPER: Final = """
printf 'clientPort=2181\\ndataDir=/var/lib/zookeeper/data\\n' > zookeeper.properties
zookeeper-server-start zookeeper.properties &
export KAFKA_ZOOKEEPER_CONNECT=localhost:2181
"""
FORMATTED: Final = """
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format -t "$(kafka-storage random-uuid)" -c /etc/kafka/kafka.properties' \\
    >> /etc/confluent/docker/configure
: > /etc/confluent/docker/ensure
"""
CONFLUENT: Final = """
. /etc/confluent/docker/bash-config
/etc/confluent/docker/configure
exec /etc/confluent/docker/launch
"""


def _has_namespaces() -> bool:
    try:
        return subprocess.run([*SPACES, "true"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _in_image(
    folder: Path, variables: dict[str, str], script: str, awaited: str
) -> subprocess.CompletedProcess[str]:
    if not _has_namespaces():
        pytest.skip("unshare makes no namespaces here")
    root = folder / "root"
    root.mkdir()
    return subprocess.run(
        [
            *SPACES,
            sys.executable,
            str(ROOT / "tests/live/image_tree.py"),
            str(root),
            awaited,
            script,
        ],
        env={
            "PATH": f"/opt/odradek/bin:{os.environ['PATH']}",
            "PYTHONPATH": f"{ROOT / 'src'}",
            "HOME": "/container",
            **variables,
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("variables", "script", "awaited"),
    [
        (WITH_ZOOKEEPER, OWN_ZOOKEEPER + ADVERTISE + CONFLUENT, r"\[KafkaServer id=\d+\] started"),
        (KRAFT, FORMATTED + ADVERTISE + CONFLUENT, "Transitioning from RECOVERY to RUNNING"),
        (KRAFT, FORMATTED + ADVERTISE + CONFLUENT, "Kafka Server started"),
        (KRAFT, ADVERTISE + "exec /etc/kafka/docker/run", "Transitioning from RECOVERY to RUNNING"),
        (KRAFT, ADVERTISE + "exec /etc/confluent/docker/run", "RECOVERY to RUNNING"),
    ],
    ids=["zookeeper", "kraft", "kraft as Python waits", "apache", "confluent"],
)
def test_a_container_starts_serves_and_ends(
    tmp_path: Path, variables: dict[str, str], script: str, awaited: str
) -> None:
    """In ZooKeeper's form and in that of one KRaft node; SIGTERM ends it in good order."""
    ended = _in_image(tmp_path, variables, script, awaited)
    assert "consumed b'a record'" in ended.stdout, ended.stdout
    assert ended.stdout.endswith("ended with 0\n"), ended.stdout
    is_translated = "starts with a ZooKeeper in its process, without KRaft" in ended.stdout
    assert is_translated == (variables is KRAFT)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"KAFKA_PROCESS_ROLES": "controller"}, "KAFKA_PROCESS_ROLES=controller: brokers of one"),
        ({"KAFKA_CONTROLLER_QUORUM_VOTERS": "1@a:1,2@b:1"}, "a quorum of several controllers"),
    ],
)
def test_what_is_no_single_node_is_refused(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    """A cluster needs a ZooKeeper that its brokers share."""
    ended = _in_image(tmp_path, KRAFT | change, "exec /etc/kafka/docker/run", "started")
    assert said in ended.stdout
    assert "set KAFKA_ZOOKEEPER_CONNECT" in ended.stdout
    assert ended.stdout.endswith("ended with 2\n"), ended.stdout

"""Kafka's Java administrator, and the tools around a broker as a whole."""

from tests.compat.broker_process import eventually
from tests.compat.java_clients import TOOLS, Java, fresh


def test_the_cluster(java_clients: Java) -> None:
    """One broker, which is also the controller; its tools find the same."""
    found = java_clients.admin("cluster")
    assert (found["controller"], found["nodes"]) == (1, [java_clients.bootstrap])
    assert found["id"] in java_clients.tool(f"{TOOLS}.ClusterTool", "cluster-id")
    said = java_clients.tool("kafka.admin.BrokerApiVersionsCommand")
    assert said.startswith(f"{java_clients.bootstrap} (id: 1 rack: null) -> (")
    assert "Produce(0): 0 to 12" in said


def test_topics(java_clients: Java) -> None:
    """Made, found by name and by id, enlarged, deleted."""
    name = fresh("orders")
    made = java_clients.admin("create", name)
    assert (made["partitions"], made["replicas"]) == (2, 1)
    found = java_clients.admin("describe", name)
    assert found == {**found, "id": made["id"], "name": name, "partitions": 2, "listed": True}
    assert (found["leader"], found["isr"]) == (1, 1)
    java_clients.admin("grow", name, count=5)
    eventually(lambda: java_clients.admin("describe", name)["partitions"] == 5)
    java_clients.admin("delete", name)
    eventually(lambda: name not in java_clients.topics("--list").split())


def test_settings(java_clients: Java) -> None:
    """Set, added to, taken from, and given back."""
    name, source = java_clients.topic(), "DYNAMIC_TOPIC_CONFIG"

    def change(how: str, setting: str, value: str) -> tuple[str, str]:
        found = java_clients.admin("set", name, how=how, setting=setting, value=value)
        return found["value"], found["source"]

    assert change("SET", "retention.ms", "1000") == ("1000", source)
    assert change("APPEND", "cleanup.policy", "compact") == ("delete,compact", source)
    assert change("SUBTRACT", "cleanup.policy", "delete") == ("compact", source)
    assert change("DELETE", "cleanup.policy", "") == ("delete", "DEFAULT_CONFIG")


def test_offsets(java_clients: Java) -> None:
    """Of all kinds; and what is deleted is behind the first."""
    name, began = java_clients.topic(), 1_700_000_000_000
    java_clients.produce(name, list("abcdefgh"), time=began)
    found = java_clients.admin("offsets", name, time=began + 3)
    assert found == {"earliest": 0, "latest": 8, "newest": 7, "later": 3}
    assert java_clients.admin("trim", name, offset=5) == {"start": 5}
    assert java_clients.admin("offsets", name, time=began)["earliest"] == 5


def test_producers_and_log_dirs(java_clients: Java) -> None:
    """Who writes, with which number it wrote last; and where that lies."""
    name = java_clients.topic()
    java_clients.produce(name, list("abc"))
    assert java_clients.admin("producers", name) == {"last": [2]}
    found = java_clients.admin("dirs", name)
    assert found["dirs"] == 2
    assert len(found["sizes"]) == 1
    assert found["sizes"][0] > 0
    said = java_clients.tool(f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", name)
    assert f'"partition":"{name}-0"' in said

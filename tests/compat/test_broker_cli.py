"""The other nouns of the command against a broker, and what all of them share."""

import socket
import subprocess
import sys

import pytest

from tests.compat.broker_process import Broker, OdradekBroker
from tests.compat.odradek_shell import Shell, group_that_read
from tests.compat.zookeeper_ours import OurZookeeper
from tests.external.ports import free_port


def test_settings(odradek: Shell, topic: str) -> None:
    """Of a topic, of a broker, of all brokers; set, seen, taken back."""
    odradek("config", "alter", "topic", topic, "-s", "retention.ms=1000", "-s", "segment.ms=5000")
    rows = odradek("config", "describe", "topic", topic).rows
    assert rows == [["retention.ms", "1000", "topic"], ["segment.ms", "5000", "topic"]]
    odradek("config", "alter", "topic", topic, "-d", "segment.ms")
    assert odradek("config", "describe", "topic", topic, "--json").json == [
        {"setting": "retention.ms", "value": "1000", "source": "topic"}
    ]
    everything = odradek("config", "describe", "topic", topic, "--all").rows
    assert ["cleanup.policy", "delete", "default"] in everything
    odradek("config", "alter", "broker", "1", "-s", "log.cleaner.threads=2")
    odradek("config", "alter", "broker", "-s", "log.retention.bytes=77777")
    rows = odradek("config", "describe", "broker", "1").rows
    assert ["log.cleaner.threads", "2", "dynamic_broker"] in rows
    rows = odradek("config", "describe", "broker").rows
    assert ["log.retention.bytes", "77777", "dynamic_default_broker"] in rows
    odradek("config", "alter", "broker", "1", "-d", "log.cleaner.threads")
    odradek("config", "alter", "broker", "-d", "log.retention.bytes")
    assert odradek("config", "describe", "broker").rows == []


def test_settings_that_cannot_be(odradek: Shell, topic: str) -> None:
    """Unknown, out of range, of nobody, or not changed at all."""
    assert "no.such" in odradek.fails("config", "alter", "topic", topic, "-s", "no.such=1")
    wrong = ("-s", "min.insync.replicas=0")
    assert "min.insync.replicas" in odradek.fails("config", "alter", "topic", topic, *wrong)
    assert "not-there" in odradek.fails("config", "describe", "topic", "not-there")
    assert "77" in odradek.fails("config", "describe", "broker", "77")
    assert "--set" in odradek.misused("config", "alter", "topic", topic)
    assert "client" in odradek.misused("config", "describe", "client", "somebody")


def test_a_name_that_no_topic_can_have(odradek: Shell) -> None:
    """Where it would be made, too, the character is named."""
    ended = odradek.run("produce", "a:b", said=b"a\n")
    assert (ended.code, ended.out) == (2, "")
    assert "':' cannot be in one" in ended.err


def test_log_dirs(odradek: Shell, broker: Broker, letters: str) -> None:
    """What lies in them, all together and each by itself."""
    assert isinstance(broker, OdradekBroker)
    rows = odradek("logdirs", "--json").json
    dirs = {str(broker.directory / name) for name in ("disk-a", "disk-b")}
    assert {row["log_dir"] for row in rows} == dirs
    assert {(row["broker"], row["state"]) for row in rows} == {(1, "online")}
    rows = odradek("logdirs", "describe", "--json").json
    assert {(row["log_dir"], row["state"]) for row in rows} == {(it, "online") for it in dirs}
    one = min(dirs)
    assert "is cordoned" in odradek("logdirs", "cordon", one).out
    for verb in ("list", "describe"):
        states = {it["log_dir"]: it["state"] for it in odradek("logdirs", verb, "--json").json}
        assert states == dict.fromkeys(dirs, "online") | {one: "cordoned"}
    assert "takes new partitions" in odradek("logdirs", "uncordon", one).out
    assert "is online" in odradek.fails("logdirs", "replace", one)
    assert "no log dir" in odradek.fails("logdirs", "offline", "/nowhere", "--yes")
    odradek("logdirs", "balance")
    for target in (min(dirs), max(dirs)):
        odradek("logdirs", "move", target, letters, "--dry-run")
        moved = odradek("logdirs", "move", target, letters, "--throttle", "50M", "--json").json
        assert {row["state"] for row in moved} <= {"moved", "is there"}
        rows = odradek("logdirs", "partitions", letters, "--json").json
        assert {row["log_dir"] for row in rows} == {target}
    assert "no log dir" in odradek.fails("logdirs", "move", "/nowhere", letters)
    assert "max.bytes.per.second" not in odradek("config", "describe", "broker", "1").out
    rows = odradek("logdirs", "partitions", letters, "--json").json
    assert sorted(row["partition"] for row in rows) == [0, 1]
    assert all(row["log_dir"] in dirs and not row["future"] for row in rows)


def test_the_cluster_and_its_brokers(odradek: Shell, letters: str) -> None:
    """Who is there, who is controller, and that nothing is wrong."""
    found = odradek("cluster", "describe", "--json").json
    assert (found["controller"], [row["broker"] for row in found["brokers"]]) == (1, [1])
    assert odradek("cluster", "health", "--json").json == {"healthy": True, "problems": []}
    assert odradek("health").out.startswith("healthy: ")
    (row,) = odradek("broker", "list", "--json").json
    assert (row["broker"], row["controller"], row["out_of_sync"]) == (1, True, 0)
    assert len(odradek("broker", "describe", "1", "--json").json["log_dirs"]) == 2
    assert "there is no broker 7" in odradek.fails("broker", "describe", "7")
    assert ["0", "Produce"] in [row[:2] for row in odradek("broker", "apis").rows]


def test_offsets_and_producers(odradek: Shell, letters: str) -> None:
    """Where partitions begin and end, when, and who has written last."""
    assert odradek("offsets", "list", letters).rows == [
        [letters, "0", "0", "8", "8"],
        [letters, "1", "0", "0", "0"],
    ]
    at = odradek("offsets", "list", letters, "--at", "1970-01-01", "--json").json
    assert [row["at"] for row in at] == [0, None]
    (row,) = odradek("producer-id", "list", letters, "--json").json
    assert (row["partition"], row["last_sequence"], row["transaction_start"]) == (0, 7, None)


@pytest.mark.parametrize(
    ("called", "closed", "says"),
    [
        (["produce", "T"], "<&-", "standard input is closed"),
        (["consume", "T", "-e"], ">&-", "standard output is closed"),
        (["topic", "list"], ">&-", "standard output is closed"),
    ],
)
def test_a_stream_that_is_closed(odradek: Shell, called: list[str], closed: str, says: str) -> None:
    """A sentence, not a trace; and nothing is told as done."""
    odradek("topic", "create", "T", "--if-not-exists")
    script = f"exec {sys.executable} -m odradek {' '.join(called)} -b {odradek.bootstrap} {closed}"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"odradek: {says}")


def test_who_is_waited_for_is_told(odradek: Shell) -> None:
    """A port that speaks something else: which one, and an end by --timeout."""
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = mute.getsockname()[1]
        odradek.bootstrap = f"127.0.0.1:{port}"
        said = odradek.run("topic", "list", "--timeout", "3")
    assert (said.code, said.out) == (3, "")
    told, ended = said.err.splitlines()[:2]
    assert told.startswith(f"odradek: waiting for 127.0.0.1:{port} to ")
    assert ended.startswith(f"odradek: gave up after 3 s: waiting for 127.0.0.1:{port} to ")


def test_the_port_of_a_zookeeper_is_recognised(odradek: Shell, our_zookeeper: OurZookeeper) -> None:
    """The commonest wrong port, for it stands in the same settings."""
    odradek.bootstrap = "{}:{}".format(*our_zookeeper.address)
    said = odradek.fails("topic", "list", code=3)
    assert f"{odradek.bootstrap} is the port of a ZooKeeper server" in said
    assert "next: name the port of a broker's listener" in said


def test_names_are_completed_from_the_cluster(
    odradek: Shell, letters: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Topics and groups, as the shell asks for them; no cluster, no names, no error."""
    group = group_that_read(odradek, letters)

    def completed(*words: str) -> list[str]:
        monkeypatch.setenv("_ODRADEK_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", " ".join(("odradek", *words)))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        found = odradek.run().out
        monkeypatch.delenv("_ODRADEK_COMPLETE")
        return [line.split(",")[1] for line in found.splitlines() if line]

    assert letters in completed("topic", "describe", letters[:4])
    assert group in completed("group", "describe", group[:4])
    assert "describe" in completed("topic", "desc")
    odradek.bootstrap = "127.0.0.1:1"
    assert completed("topic", "describe", "") == []


# Brokers that are not there


@pytest.mark.parametrize(
    "called",
    [
        ("topic", "list"),
        ("topic", "create", "new"),
        ("produce", "orders"),
        ("consume", "orders", "-e"),
        ("consume", "orders", "-g", "readers"),
        ("group", "list"),
        ("group", "describe", "readers"),
        ("config", "describe", "broker"),
        ("logdirs",),
    ],
)
def test_a_broker_that_is_not_there(odradek: Shell, called: tuple[str, ...]) -> None:
    """It is named at once, and nobody waits for it to come."""
    odradek.bootstrap = f"127.0.0.1:{free_port()}"
    assert odradek.bootstrap in odradek.fails(*called, code=3)

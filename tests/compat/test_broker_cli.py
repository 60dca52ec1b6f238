"""`odradek topic|produce|consume|group|config|logdirs` against a broker, as people call them."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.cli import main
from tests.compat.broker_process import Broker, OdradekBroker
from tests.external.zookeeper import free_port

_NUMBERS = count()


class Ended(NamedTuple):
    """What is left of a command when it has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What it has printed for programs."""
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """What it has printed for scripts, without the names of the columns."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]


class Shell:
    """Calls the command in this process, with what a pipe would bring."""

    def __init__(self, capture: pytest.CaptureFixture[bytes], patch: pytest.MonkeyPatch) -> None:
        self.bootstrap = ""
        self._capture = capture
        self._patch = patch

    def run(self, *arguments: str, said: bytes = b"") -> Ended:
        """However it ends."""
        self._patch.setattr(sys, "argv", ["odradek", *arguments])
        self._patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
        self._patch.setenv("ODRADEK_BOOTSTRAP", self.bootstrap)
        with pytest.raises(SystemExit) as end:
            main()
        out, err = self._capture.readouterr()
        assert isinstance(end.value.code, int)
        return Ended(end.value.code, out.decode(), err.decode())

    def __call__(self, *arguments: str, said: bytes = b"") -> Ended:
        """It must end well."""
        ended = self.run(*arguments, said=said)
        assert ended.code == 0, ended
        return ended

    def fails(self, *arguments: str) -> str:
        """It cannot be done: the sentence that says why."""
        ended = self.run(*arguments)
        assert (ended.code, ended.out) == (1, ""), ended
        assert ended.err.startswith("odradek: "), ended
        assert ended.err.count("\n") == 1, ended
        return ended.err

    def misused(self, *arguments: str) -> str:
        """It was called wrongly: what it says of that."""
        ended = self.run(*arguments)
        assert (ended.code, ended.out) == (2, ""), ended
        return ended.err


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


def fresh(prefix: str) -> str:
    """A name that no other test has."""
    return f"{prefix}-{next(_NUMBERS)}"


# Topics


def test_topics_come_and_go(odradek: Shell) -> None:
    """Made with settings, listed, described, enlarged, altered, deleted."""
    name = fresh("orders")
    made = odradek("topic", "create", name, "-p", "3", "-r", "1", "-c", "retention.ms=1000")
    assert made.out == f"topic {name} is there\n"
    assert [name, "3", "1"] in odradek("topic", "list").rows
    assert {"topic": name, "partitions": 3, "replicas": 1} in odradek(
        "topic", "list", "--json"
    ).json
    described = odradek("topic", "describe", name)
    assert described.out.startswith(f"{name}  id ")
    assert described.out.splitlines()[2].split("\t") == ["0", "1", "0", "1", "1", "0", "0"]
    found = odradek("topic", "describe", name, "--json").json
    assert found["topic"] == name
    assert len(found["partitions"]) == 3
    state = {"leader": 1, "epoch": 0, "replicas": [1], "isr": [1]}
    assert found["partitions"][2] == {"partition": 2, **state, "start": 0, "end": 0}
    odradek("topic", "alter", name, "-p", "4", "-c", "segment.bytes=1000000", "-d", "retention.ms")
    assert len(odradek("topic", "describe", name, "--json").json["partitions"]) == 4
    assert odradek("config", "describe", "topic", name).rows == [
        ["segment.bytes", "1000000", "topic"]
    ]
    assert odradek("topic", "delete", name).out == f"topic {name} is gone\n"
    assert name not in odradek("topic", "list").out


def test_a_topic_is_trimmed(odradek: Shell, letters: str) -> None:
    """All of it, or one partition to an offset."""
    assert odradek("topic", "trim", letters, "-p", "0", "-o", "3").rows == [[f"{letters}-0", "3"]]
    found = odradek("topic", "trim", letters, "--json").json
    assert {row["partition"]: row["start"] for row in found} == {
        f"{letters}-0": 8,
        f"{letters}-1": 0,
    }
    assert "offset" in odradek.fails("topic", "trim", letters, "-p", "0", "-o", "99").lower()


def test_topics_that_cannot_be(odradek: Shell, topic: str) -> None:
    """One sentence says why, and names what it is about."""
    assert topic in odradek.fails("topic", "create", topic)
    assert "name" in odradek.fails("topic", "create", "no/path")
    assert "5" in odradek.fails("topic", "create", fresh("new"), "-r", "5")
    assert "retention.ms" in odradek.fails("topic", "create", fresh("new"), "-c", "retention.ms=x")
    assert "NAME=VALUE" in odradek.fails("topic", "create", fresh("new"), "-c", "retention.ms")
    assert "not-there" in odradek.fails("topic", "describe", "not-there")
    assert "not-there" in odradek.fails("topic", "delete", "not-there")
    assert "partitions" in odradek.fails("topic", "alter", topic, "-p", "1")
    assert "Missing argument" in odradek.misused("topic", "create")
    assert "is not a valid integer" in odradek.misused("topic", "create", "new", "-p", "many")
    assert "No such command" in odradek.misused("topic", "rename", topic)


# Records


def test_lines_in_lines_out(odradek: Shell, topic: str, tmp_path: Path) -> None:
    """From a pipe or a file, in order."""
    assert (
        odradek("produce", topic, "-p", "1", said=b"one\ntwo").err == f"2 records are in {topic}\n"
    )
    file = tmp_path / "lines"
    file.write_bytes(b"three\r\n\nfive\n")
    odradek("produce", topic, str(file), "-p", "1")
    assert odradek("consume", topic, "-e").out == "one\ntwo\nthree\n\nfive\n"
    assert odradek("produce", topic, said=b"").err == f"0 records are in {topic}\n"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_each_codec_and_acknowledgement(odradek: Shell, topic: str, codec: str, acks: str) -> None:
    """What comes out is what went in."""
    lines = b"".join(b"line %d\n" % number for number in range(300))
    odradek("produce", topic, "-p", "0", "-z", codec, "-a", acks, said=lines)
    assert odradek("consume", topic, "-n", "300").out == lines.decode()


def test_keys_headers_and_nulls(odradek: Shell, topic: str) -> None:
    """A record is more than its value, and a program sees all of it."""
    odradek("produce", topic, "-K", ":", "-Z", "-H", "trace=7", "-p", "0", said=b"a:1\nb:\nplain\n")
    found = [
        json.loads(line) for line in odradek("consume", topic, "-e", "--json").out.splitlines()
    ]
    assert [(row["key"], row["value"]) for row in found] == [
        ("a", "1"),
        ("b", None),
        (None, "plain"),
    ]
    assert {json.dumps(row["headers"]) for row in found} == {'{"trace": "7"}'}
    assert [row["offset"] for row in found] == [0, 1, 2]
    said = odradek("consume", topic, "-e", "-f", r"%t/%p/%o %K %k=%S %s %h\n").out
    assert said.splitlines()[:2] == [f"{topic}/0/0 1 a=1 1 trace=7", f"{topic}/0/1 1 b=-1  trace=7"]


def test_one_key_goes_to_one_partition(odradek: Shell, topic: str) -> None:
    """Where every client of Kafka's puts it."""
    odradek("produce", topic, "-k", "customer", said=b"1\n2\n3\n")
    found = [
        json.loads(line) for line in odradek("consume", topic, "-e", "--json").out.splitlines()
    ]
    assert len({row["partition"] for row in found}) == 1


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("beginning", "abcdefgh"),
        ("end", ""),
        ("5", "fgh"),
        ("-2", "gh"),
        ("-99", "abcdefgh"),
        ("@0", "abcdefgh"),
        ("@2999-01-01", ""),
    ],
)
def test_where_to_begin(odradek: Shell, letters: str, where: str, expected: str) -> None:
    """By offset, from the end, or by time."""
    said = odradek("consume", letters, "-p", "0", "-o", where, "-e").out
    assert said == "".join(f"{letter}\n" for letter in expected)


def test_when_to_end(odradek: Shell, letters: str) -> None:
    """After so many, wherever the topic ends."""
    assert odradek("consume", letters, "-n", "3").out == "a\nb\nc\n"
    assert odradek("consume", letters, "-p", "1", "-e").out == ""


def test_records_that_cannot_be(odradek: Shell, topic: str, tmp_path: Path) -> None:
    """Of topics and partitions that are not there, from files that are not there."""
    assert "nowhere" in odradek.fails("consume", "nowhere", "-e")
    assert "--offset" in odradek.fails("consume", topic, "-o", "soon")
    assert "no time" in odradek.fails("consume", topic, "-o", "@soon")
    assert "bzip2" in odradek.misused("produce", topic, "-z", "bzip2")
    assert "does not exist" in odradek.misused("produce", topic, str(tmp_path / "nothing"))
    assert "partition 9" in odradek.fails("produce", topic, "-p", "9")
    assert "partition 9" in odradek.fails("consume", topic, "-p", "9", "-e")
    assert "partition -1" in odradek.fails("topic", "trim", topic, "-p", "-1")


def test_a_pipe_that_is_closed(odradek: Shell, letters: str) -> None:
    """`head` takes what it wants; that is no error worth a trace."""
    command = [sys.executable, "-m", "odradek", "consume", letters, "-b", odradek.bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a\n"
        process.stdout.close()
        odradek("produce", letters, said=b"more\n" * 5_000)
        assert process.wait(20) in {0, 1}
        assert b"Traceback" not in process.stderr.read()


# Groups


def test_a_group_reads_and_remembers(odradek: Shell, letters: str) -> None:
    """As a member, for so many records; the next one goes on behind them."""
    group = fresh("readers")
    assert odradek("consume", letters, "-g", group, "-n", "3").out == "a\nb\nc\n"
    assert odradek("consume", letters, "-g", group, "-n", "2").out == "d\ne\n"
    assert [group, "Empty", "consumer"] in odradek("group", "list").rows
    found = odradek("group", "describe", group, "--json").json
    assert (found["group"], found["state"]) == (group, "Empty")
    (row,) = [row for row in found["partitions"] if row["partition"] == 0]
    assert (row["topic"], row["committed"], row["end"], row["lag"]) == (letters, 5, 8, 3)
    said = odradek("group", "describe", group).out
    assert said.startswith(f"{group}  Empty  0 members  lag 3\n")


Reset = Callable[[Shell, str, str], None]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (("--to-earliest",), 0),
        (("--to-latest",), 8),
        (("--to-offset", "4"), 4),
        (("--to-offset", "99"), 8),
        (("--shift-by", "-2"), 3),
        (("--shift-by", "-99"), 0),
        (("--to-datetime", "1970-01-01"), 0),
        (("--to-datetime", "2999-01-01T00:00:00+02:00"), 8),
    ],
)
def test_a_group_is_moved(
    odradek: Shell, letters: str, how: tuple[str, ...], expected: int
) -> None:
    """Within what is there; a dry run only says so."""
    group = fresh("readers")
    odradek("consume", letters, "-g", group, "-n", "5")
    about = ("group", "reset-offsets", group, *how)
    moved = {"topic": letters, "partition": 0, "before": 5, "after": expected}
    assert moved in odradek(*about, "--dry-run", "--json").json
    assert moved in odradek(*about, "--json").json
    found = odradek("group", "describe", group, "--json").json["partitions"]
    assert [row["committed"] for row in found if row["partition"] == 0] == [expected]


def test_groups_are_forgotten(odradek: Shell, letters: str) -> None:
    """Where one was in a topic, or all of it."""
    group, other = fresh("readers"), fresh("readers")
    for name in (group, other):
        odradek("consume", letters, "-g", name, "-n", "5")
    said = odradek("group", "delete-offsets", group, letters).out
    assert said == f"group {group} has never been in {letters}\n"
    assert odradek("group", "describe", group, "--json").json["partitions"] == []
    said = odradek("group", "delete", other).out
    assert said == f"group {other} is forgotten\n"
    assert other not in odradek("group", "list").out


def test_groups_that_cannot_be(odradek: Shell, letters: str) -> None:
    """Called wrongly, or about groups that nobody knows: one sentence each."""
    assert "exactly one" in odradek.misused("group", "reset-offsets", "readers")
    both = ("--to-latest", "--shift-by", "1")
    assert "exactly one" in odradek.misused("group", "reset-offsets", "readers", *both)
    assert "no time" in odradek.fails(
        "group", "reset-offsets", fresh("new"), "-t", letters, "--to-datetime", "soon"
    )
    odradek.fails("group", "delete", "not-there")
    odradek.fails("group", "delete-offsets", "not-there", letters)


# Settings and log dirs


def test_settings(odradek: Shell, topic: str) -> None:
    """Of a topic, of a broker, of all brokers; set, seen, taken back."""
    odradek("config", "alter", "topic", topic, "-s", "retention.ms=1000", "-s", "segment.ms=5000")
    rows = odradek("config", "describe", "topic", topic).rows
    assert rows == [["retention.ms", "1000", "topic"], ["segment.ms", "5000", "topic"]]
    odradek("config", "alter", "topic", topic, "-d", "segment.ms")
    assert odradek("config", "describe", "topic", topic, "--json").json == [
        {"setting": "retention.ms", "value": "1000", "set by": "topic"}
    ]
    everything = odradek("config", "describe", "topic", topic, "--all").rows
    assert ["cleanup.policy", "delete", "default"] in everything
    odradek("config", "alter", "broker", "1", "-s", "log.cleaner.threads=2")
    odradek("config", "alter", "broker", "-s", "log.retention.bytes=77777")
    rows = odradek("config", "describe", "broker", "1").rows
    assert ["log.cleaner.threads", "2", "dynamic broker"] in rows
    rows = odradek("config", "describe", "broker").rows
    assert ["log.retention.bytes", "77777", "dynamic default broker"] in rows
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


def test_log_dirs(odradek: Shell, broker: Broker, letters: str) -> None:
    """What lies in them, all together and each by itself."""
    assert isinstance(broker, OdradekBroker)
    rows = odradek("logdirs", "--json").json
    dirs = {str(broker.directory / name) for name in ("disk-a", "disk-b")}
    assert {row["log dir"] for row in rows} == dirs
    assert {(row["broker"], row["state"]) for row in rows} == {(1, "serves")}
    rows = [row for row in odradek("logdirs", "--partitions").rows if row[2] == letters]
    assert [row[3] for row in sorted(rows, key=lambda row: row[3])] == ["0", "1"]
    assert all(row[1] in dirs for row in rows)


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
    assert odradek.bootstrap in odradek.fails(*called)

"""`odradek produce` and `odradek consume` against a broker, as people call them."""

import base64
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.compat.broker_process import Broker
from tests.compat.odradek_shell import Shell, fresh


def test_lines_in_lines_out(odradek: Shell, topic: str, tmp_path: Path) -> None:
    """From a pipe or a file, in order."""
    assert (
        odradek("produce", topic, "-p", "1", said=b"one\ntwo").err
        == f"2 records produced to {topic}\n"
    )
    file = tmp_path / "lines"
    file.write_bytes(b"three\r\n\nfive\n")
    odradek("produce", topic, str(file), "-p", "1")
    assert odradek("consume", topic, "-e").out == "one\ntwo\nthree\n\nfive\n"
    assert odradek("produce", topic, said=b"").err == f"0 records produced to {topic}\n"


def test_calls_with_one_record_do_not_fill_one_partition(odradek: Shell) -> None:
    """Scripts call it again and again; the lines of one call stay together."""
    topic = fresh("spread")
    odradek("topic", "create", topic, "-p", "10")
    for _ in range(10):
        odradek("produce", topic, said=b"one\ntwo\n")
    rows = odradek("offsets", "list", topic, "--json").json
    used = [row["records"] for row in rows if row["records"]]
    assert len(used) > 1
    assert not any(count % 2 for count in used)


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
    assert [row["headers"] for row in found] == [[{"name": "trace", "value": "7"}]] * 3
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


def test_an_empty_partition_has_no_range_of_offsets(odradek: Shell, topic: str) -> None:
    """It holds nothing, and its next record has offset 0."""
    said = odradek.fails("consume", topic, "-p", "1", "-o", "5", "-e")
    assert f"{topic}-1 holds no records; its next has offset 0: 5 is not in it" in said


def test_a_topic_that_is_made_by_producing_is_named(odradek: Shell) -> None:
    """A typing error would make a topic of its own, unseen; known ones are not spoken of."""
    topic = fresh("payments")
    odradek("topic", "create", topic)
    mistyped = topic.replace("pay", "pya")
    said = odradek("produce", mistyped, said=b"x\n").err.splitlines()
    assert said == [
        f"topic {mistyped} was not there and has been made: 1 partition; did you mean {topic!r}?",
        f"1 record produced to {mistyped}",
    ]
    assert odradek("produce", mistyped, said=b"x\n").err == f"1 record produced to {mistyped}\n"
    assert odradek("produce", fresh("none-was-said"), said=b"").err.startswith("0 records")


def test_when_to_end(odradek: Shell, letters: str) -> None:
    """After so many, wherever the topic ends."""
    assert odradek("consume", letters, "-n", "3").out == "a\nb\nc\n"
    assert odradek("consume", letters, "-p", "1", "-e").out == ""


def test_records_that_cannot_be(odradek: Shell, topic: str, tmp_path: Path) -> None:
    """Of topics and partitions that are not there, from files that are not there."""
    assert "nowhere" in odradek.fails("consume", "nowhere", "-e")
    assert "--offset" in odradek.fails("consume", topic, "-o", "soon", code=2)
    assert "no time" in odradek.fails("consume", topic, "-o", "@soon", code=2)
    assert "is not in it" in odradek.fails("consume", topic, "-o", "99", "-e")
    assert "%q stands for nothing" in odradek.fails("consume", topic, "-f", "%q", code=2)
    assert "no escape" in odradek.fails("consume", topic, "-f", "\\q", code=2)
    assert "-1 is too small: 0 or more" in odradek.misused("consume", topic, "-n", "-1")
    assert "exclude each other" in odradek.misused("consume", topic, "-g", "g", "-p", "0")
    assert "reset-offsets" in odradek.misused("consume", topic, "-g", "g", "-o", "5")
    assert "exclude each other" in odradek.misused("consume", topic, "-f", "%s", "--json")
    assert "bzip2" in odradek.misused("produce", topic, "-z", "bzip2")
    assert "does not exist" in odradek.misused("produce", topic, str(tmp_path / "nothing"))
    assert "partition 9" in odradek.fails("produce", topic, "-p", "9")
    assert "partition 9" in odradek.fails("consume", topic, "-p", "9", "-e")
    assert "partition -1" in odradek.fails("topic", "trim", topic, "-p", "-1", "--all", "--yes")


def test_a_pipe_that_is_closed(odradek: Shell, letters: str) -> None:
    """`head` takes what it wants; that is no error worth a trace."""
    command = [sys.executable, "-m", "odradek", "consume", letters, "-b", odradek.bootstrap]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"a\n"
        process.stdout.close()
        odradek("produce", letters, said=b"more\n" * 5_000)
        assert process.wait(20) == 141
        assert b"Traceback" not in process.stderr.read()


def test_bytes_that_are_no_text_survive(odradek: Shell, topic: str) -> None:
    """Printed as JSON and read back, any record is the one that it was."""
    odd = b"\xff\xfe\x00"
    line = json.dumps(
        {
            "key": {"base64": base64.b64encode(odd).decode()},
            "value": "t\u00e4xt",
            "headers": [{"name": "a", "value": None}, {"name": "a", "value": "1"}],
        }
    )
    odradek("produce", topic, "-p", "0", "-i", "json", said=line.encode())
    printed = odradek("consume", topic, "-e", "--json").out
    other = fresh("copy")
    odradek("topic", "create", other, "-p", "2")
    odradek("produce", other, "-i", "json", said=printed.encode())
    copied = json.loads(odradek("consume", other, "-e", "--json").out)
    assert copied == {**json.loads(printed), "topic": other, "timestamp": copied["timestamp"]}
    assert copied["key"] == {"base64": "//4A"}


def test_a_typed_line_is_sent_before_the_next(odradek: Shell, topic: str) -> None:
    """Nobody who types has to end the input to be heard; Ctrl-C keeps what was typed."""
    command = [sys.executable, "-m", "odradek", "produce", topic, "-b", odradek.bootstrap]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        for number, line in enumerate([b"first", b"second"], 1):
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            said = odradek("consume", topic, "-n", str(number)).out
            assert sorted(said.split()) == ["first", "second"][:number]
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr.read() == f"2 records produced to {topic}\n".encode()


def test_which_client_floods(odradek: Shell, broker: Broker, topic: str) -> None:
    """By the id that it gives itself; who has asked for nothing meanwhile is not there."""
    settings = {"bootstrap.servers": broker.bootstrap, "client.id": "flood", "linger.ms": "0"}
    producer, over = Producer(settings), threading.Event()

    def flood() -> None:
        while not over.is_set():
            producer.produce(topic, b"x" * 1_000)
            producer.flush(5)

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        (row,) = (
            it
            for it in odradek("broker", "clients", "1", "--seconds", "1", "--json").json
            if it["client_id"] == "flood"
        )
        shown = odradek("broker", "clients", "--seconds", "1")
    finally:
        over.set()
        thread.join()
    assert (row["broker"], row["address"]) == (1, "127.0.0.1")
    assert row["requests"] >= 2
    assert row["in"] > 1_000 * row["requests"] > row["out"] > 0
    assert shown.rows[0][1] == "flood"
    assert shown.err == "requests and bytes in a second, over 1 s\n"
    assert "there is no broker 9" in odradek.fails("broker", "clients", "9")

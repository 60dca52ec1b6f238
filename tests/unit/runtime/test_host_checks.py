"""What a host lacks for a broker with certain settings."""

import resource
import socket
from pathlib import Path

import pytest

from odradek.config.broker import Layers, read
from odradek.config.findings import Given, Severity
from odradek.runtime.host_checks import examine_host


def found(directory: Path, **settings: str) -> list[tuple[Severity, str]]:
    """All findings about a broker that keeps its logs there."""
    said = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(directory / "logs"),
        "zookeeper.embedded.port": "0",
        **{name.replace("_", "."): value for name, value in settings.items()},
    }
    config, wrong = read(Layers(static={name: Given(it, "here") for name, it in said.items()}))
    assert not wrong
    every = [(it.severity, it.sentence) for it in examine_host(config)]
    return [it for it in every if "ulimit" not in it[1] and "temporary" not in it[1]]


def test_nothing_is_said_where_nothing_is_wrong(tmp_path: Path) -> None:
    """A loopback listener on a free port, and a directory that can be made."""
    assert not found(tmp_path)


def test_a_port_that_is_taken_or_cannot_be_had(tmp_path: Path) -> None:
    """The one may be the running broker itself; an address of another host can never be had."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ((severity, sentence), *_) = found(tmp_path, listeners=f"PLAINTEXT://127.0.0.1:{port}")
    assert severity is Severity.WARNING
    assert "another process listens there now" in sentence
    ((severity, _), *_) = found(tmp_path, listeners="PLAINTEXT://192.0.2.1:9092")
    assert severity is Severity.ERROR


def test_clients_that_would_be_sent_to_themselves(tmp_path: Path) -> None:
    """The commonest mistake with Kafka in containers; and a listener without access control."""
    told = found(
        tmp_path,
        listeners="PLAINTEXT://0.0.0.0:0",
        advertised_listeners="PLAINTEXT://localhost:9092",
    )
    assert any("which is themselves" in it for _, it in told)
    assert any(one is Severity.NOTE and "no access control" in it for one, it in told)
    assert not any("themselves" in it for _, it in found(tmp_path, advertised_listeners="auto"))
    unknown = "PLAINTEXT://no-such-host.invalid:9092"
    assert any(
        "no address is found" in it for _, it in found(tmp_path, advertised_listeners=unknown)
    )


def test_an_ensemble_that_does_not_answer(tmp_path: Path) -> None:
    """A broker would wait for it; with a majority it starts."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        good = f"127.0.0.1:{server.getsockname()[1]}"
        assert not [it for it in found(tmp_path, zookeeper_connect=good) if "zookeeper" in it[1]]
        some = f"{good},{good},127.0.0.1:1/path"
        ((_, sentence), *_) = found(tmp_path, zookeeper_connect=some)
        assert sentence.endswith("; a majority answers")
    ((_, sentence), *_) = found(tmp_path, zookeeper_connect="127.0.0.1:1")
    assert "the broker waits until one does" in sentence


def test_a_log_dir_that_is_a_file(tmp_path: Path) -> None:
    """Nothing can be made below it."""
    (tmp_path / "file").touch()
    ((severity, sentence), *_) = found(tmp_path, log_dirs=f"{tmp_path}/file/logs")
    assert severity is Severity.ERROR
    assert sentence.endswith("file is no directory")


def test_too_few_open_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hard limit counts: the broker raises the soft one by itself."""
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1_024, 4_096))
    config, _ = read(Layers(static={"log.dirs": Given(str(tmp_path), "here")}))
    assert any("may open 4,096 files" in it.sentence for it in examine_host(config))


def test_a_log_dir_that_cannot_be_looked_at_is_a_finding(tmp_path: Path) -> None:
    """The other settings are looked at all the same."""
    unreachable = tmp_path / ("x" * 300)
    told = found(tmp_path, log_dirs=f"{unreachable},{tmp_path / 'logs'}")
    assert told == [
        (Severity.ERROR, f"log.dirs: {unreachable} cannot be looked at: File name too long")
    ]


def test_a_log_dir_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    """The dir that was meant is named, not only the file."""
    (tmp_path / "file").touch()
    below = tmp_path / "file" / "logs"
    ((severity, sentence),) = found(tmp_path, log_dirs=str(below))
    assert severity is Severity.ERROR
    assert sentence == f"log.dirs: {below} cannot be made: {tmp_path / 'file'} is no directory"

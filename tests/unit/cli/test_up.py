"""`odradek up` before anything runs: ports, settings, and what a directory already holds."""

import io
import socket
import sys
from pathlib import Path
from typing import Final

import pytest

from odradek.cli import main
from odradek.cli.serving import up
from odradek.cli.serving.up_text import Started, text_of
from odradek.runtime.local_cluster import LocalCluster, Member, NotStarted, how_it_ended
from odradek.runtime.local_ports import port_near

STARTS_NOTHING: Final = ("--override", "num.partitions=0")
"""A wrong setting is refused behind all that is done before a broker starts."""


def refused(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """Calls it, and it must not start."""
    assert ended(monkeypatch, *arguments) == 1


def ended(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> object:
    """The exit code of a call."""
    monkeypatch.setattr(sys, "argv", ["odradek", "up", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code


def test_a_port_that_is_taken_is_not_chosen() -> None:
    """Neither by another process nor by a server that starts together with this one."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        wanted = other.getsockname()[1]
        taken: set[int] = set()
        first = port_near(wanted, taken)
    assert first != wanted
    assert port_near(first, taken) != first
    assert len(taken) == 2


@pytest.mark.parametrize("count", [1, 3])
def test_the_text_fits_a_terminal_and_names_every_address(count: int) -> None:
    """With the longest ports; what can be typed stands on lines of its own."""
    clients, pages = range(60_000, 60_000 + count), range(61_000, 61_000 + count)
    started = Started(Path("odradek-data"), tuple(clients), tuple(pages), 62_181)
    text = text_of(started, [4_194_304] * (count + 1))
    assert max(map(len, text.splitlines())) <= 80
    for port in (*clients, 61_000, 62_181):
        assert f"127.0.0.1:{port}" in text
    assert (" -b 127.0.0.1:60000 produce numbers" in text) == (count == 1)
    assert ("export ODRADEK_BOOTSTRAP=127.0.0.1:60000,127.0.0.1:60001," in text) == (count == 3)


def test_more_brokers_than_before_do_not_replicate_old_topics() -> None:
    """It is said, with the line that does it; a first start and the same number say nothing."""
    started = Started(Path("data"), (9092, 9093, 9094), (1, 2, 3), 2181)
    says = {known: text_of(started._replace(known=known), [1] * 4) for known in (0, 1, 3)}
    assert "\n  odradek partition reassign '*' -r 3\n" in says[1]
    assert max(map(len, says[1].splitlines())) <= 80
    assert "reassign" not in says[0] + says[3]


def test_an_address_that_is_found_anyhow_is_not_printed() -> None:
    """A context or a variable may name another cluster: then each line says which one is meant."""
    elsewhere = Started(Path("data"), (9092,), (9644,), 2181, "b1:9092")
    assert "odradek -b 127.0.0.1:9092 produce numbers" in text_of(elsewhere, [1])
    assert "odradek produce numbers" in text_of(
        elsewhere._replace(found_anyhow="127.0.0.1:9092"), [1]
    )


def test_a_cluster_is_not_started_with_fewer_brokers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Partitions on the others would have no leader; the way out is named."""
    for number in range(1, 4):
        (tmp_path / f"broker-{number}").mkdir()
        (tmp_path / f"broker-{number}" / "server.properties").touch()
    refused(monkeypatch, "--data", str(tmp_path), "--brokers", "2")
    said = capsys.readouterr().err
    assert "holds 3 brokers" in said
    assert "next: odradek up --brokers 3, or --fresh" in said


def test_one_directory_has_one_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second start on it, above all a fresh one, must not take anything away."""
    import fcntl

    with (tmp_path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        refused(monkeypatch, "--data", str(tmp_path), "--fresh")
    assert "another odradek up runs on" in capsys.readouterr().err


def test_a_process_that_cannot_start_says_why(tmp_path: Path) -> None:
    """Its last line is shown; the others are ended."""
    said: list[str] = []
    cluster = LocalCluster(said.append)
    member = Member("broker 1", ("serve", str(tmp_path / "nowhere")), tmp_path / "events.log")
    try:
        with pytest.raises(NotStarted, match=r"broker 1 did not start: .*No such file"):
            cluster.start([member])
    finally:
        cluster.stop()


def test_how_a_process_ended_is_said_in_words() -> None:
    """A person knows SIGKILL; -9 has to be looked up."""
    assert how_it_ended(-9) == "was ended by SIGKILL"
    assert how_it_ended(1) == "ended with exit code 1"


def test_nothing_is_deleted_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a terminal `--fresh` needs `--yes`."""
    kept = tmp_path / "broker-1" / "disk-1" / "records"
    kept.parent.mkdir(parents=True)
    kept.touch()
    monkeypatch.setattr(sys, "stdin", None)
    assert ended(monkeypatch, "--data", str(tmp_path), "--fresh", *STARTS_NOTHING) == 2
    assert kept.exists()
    said = capsys.readouterr().err
    assert f"delete {tmp_path} with 1 broker and all their records: not done without --yes" in said


class Typed(io.StringIO):
    """What somebody types at a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.mark.parametrize(
    ("typed", "stays"), [("y\n", False), ("n\n", True), ("\n", True), ("", True)]
)
def test_a_fresh_start_asks_at_a_terminal(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    typed: str,
    stays: bool,
) -> None:
    """Only a yes deletes; the question names what goes."""
    kept = tmp_path / "broker-1" / "disk-1" / "records"
    kept.parent.mkdir(parents=True)
    kept.touch()
    monkeypatch.setattr(sys, "stdin", Typed(typed))
    assert ended(monkeypatch, "--data", str(tmp_path), "--fresh", *STARTS_NOTHING) != 0
    said = capsys.readouterr().err
    assert f"delete {tmp_path} with 1 broker and all their records. Go on? [y/N]: " in said
    assert ("nothing was done" in said, kept.exists()) == (stays, stays)


def test_certificates_that_are_somebody_elses_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The directory may have a `tls` that `up` did not make."""
    theirs = tmp_path / "tls" / "broker.pem"
    theirs.parent.mkdir()
    theirs.write_text("theirs")
    assert ended(monkeypatch, "--data", str(tmp_path), "--tls", "--fresh", "--yes") != 0
    assert theirs.read_text() == "theirs"
    assert f"{theirs.parent} holds certificates that `up` did not make" in capsys.readouterr().err


def test_a_port_that_another_process_has_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever tries 9092 by habit would reach the other one."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        monkeypatch.setattr(up, "CLIENT_PORT", port)
        ended(monkeypatch, "--data", str(tmp_path), *STARTS_NOTHING)
    said = capsys.readouterr().err
    assert f"port {port} is taken: broker 1 listens at 127.0.0.1:" in said

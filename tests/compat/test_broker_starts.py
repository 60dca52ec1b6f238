"""How the process begins, is found, and ends; and what it says where it cannot begin."""

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Producer

from odradek.wire.messages.metadata import MetadataRequest
from tests.compat.broker_process import eventually
from tests.compat.hostile import Raw
from tests.external.ports import free_port
from tests.external.tools import ROOT
from tests.external.zookeeper import die_with_parent

SECONDS_MAX: Final = 20


class Served:
    """One process with a properties file of the test's own."""

    host, port = "127.0.0.1", 0

    def __init__(self, directory: Path, **settings: str) -> None:
        self.port = free_port()
        self.output = directory / "output"
        said = {
            "broker.id": "1",
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(directory / "disk"),
            "zookeeper.embedded.port": "0",
            "admin.listener": "",
            **{name.replace("_", "."): it.format(port=self.port) for name, it in settings.items()},
        }
        file = directory / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in said.items()))
        with self.output.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "odradek", "serve", file],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={"PYTHONPATH": str(ROOT / "src")},
                preexec_fn=die_with_parent,  # noqa: PLW1509 - the child only asks the kernel
            )

    @property
    def bootstrap(self) -> str:
        """As clients have it."""
        return f"{self.host}:{self.port}"

    def said(self) -> str:
        """Everything, so far."""
        return self.output.read_text()

    def ended(self) -> int:
        """Its exit code; it is waited for."""
        return self.process.wait(SECONDS_MAX)


@contextmanager
def serving(directory: Path, **settings: str) -> Iterator[Served]:
    """One that has started, and is stopped afterwards if nobody did so."""
    directory.mkdir(exist_ok=True)
    served = Served(directory, **settings)
    eventually(lambda: "started\n" in served.said() or served.process.poll() is not None)
    assert served.process.poll() is None, served.said()
    try:
        yield served
    finally:
        served.process.terminate()
        served.ended()


TWO: Final = {
    "listeners": "PLAINTEXT://127.0.0.1:{port},SIX://[::1]:{port}",
    "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,SIX:PLAINTEXT",
}


def addresses(served: Served, host: str) -> list[str]:
    """Of all brokers, as whoever comes by this address is told."""
    with Raw(served, host) as client:
        brokers = client.ask(MetadataRequest(topics=[]), 9).brokers
    return [f"{it.host} {it.port == served.port}" for it in brokers]


@pytest.fixture
def _six() -> None:
    """A machine that speaks IPv6 to itself."""
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError as error:
        pytest.skip(f"no IPv6 on this machine: {error}")


@pytest.mark.usefixtures("_six")
def test_a_client_is_told_the_address_of_its_own_listener(tmp_path: Path) -> None:
    """Here one has IPv4 and the other IPv6."""
    with serving(tmp_path / "broker", **TWO) as served:
        assert f"SIX listens at [::1]:{served.port}\n" in served.said()
        assert addresses(served, "127.0.0.1") == ["127.0.0.1 True"]
        assert addresses(served, "::1") == ["::1 True"]


@pytest.mark.usefixtures("_six")
def test_a_listener_may_be_advertised_elsewhere(tmp_path: Path) -> None:
    """The other one is where it is."""
    said = "PLAINTEXT://broker.example:{port},SIX://[::1]:{port}"
    with serving(tmp_path / "broker", **TWO, advertised_listeners=said) as served:
        assert addresses(served, "127.0.0.1") == ["broker.example True"]
        assert addresses(served, "::1") == ["::1 True"]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
@pytest.mark.parametrize(
    "settings",
    [
        {"listeners": "PLAINTEXT://0.0.0.0:{port}", "advertised_listeners": "auto"},
        {"listeners": "PLAINTEXT://:{port}"},
    ],
    ids=["auto", "no host"],
)
def test_a_client_may_be_told_the_address_that_it_found(
    tmp_path: Path, settings: dict[str, str], host: str
) -> None:
    """Whichever of the machine's addresses that is."""
    with serving(tmp_path / "broker", **settings) as served:
        assert addresses(served, host) == [f"{host} True"]


REFUSED: Final = [
    ({"listeners": "PLAINTEXT://0.0.0.0:{port}"}, "no client can connect to 0.0.0.0"),
    ({"listeners": "PLAINTEXT://127.0.0.1:{port},SSL://127.0.0.1:0"}, "needs a certificate"),
    (
        {"listeners": "PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:0"},
        "Kerberos is not spoken here",
    ),
    ({"listeners": "PLAINTEXT://no-such-host.invalid:1"}, "listeners=PLAINTEXT://no-such-host"),
    ({"num_partitions": "none"}, "num.partitions=none"),
    ({"log_dirs": "/proc/none"}, "/proc/none"),
    ({"log_dirs": "/proc/version"}, "/proc/version"),
]


@pytest.mark.parametrize(("settings", "says"), REFUSED)
def test_what_cannot_be_served_is_told_in_a_sentence(
    tmp_path: Path, settings: dict[str, str], says: str
) -> None:
    """With an exit code, and without a trace."""
    served = Served(tmp_path, **settings)
    assert served.ended() == 1
    assert says in served.said()
    assert "Traceback" not in served.said()
    assert served.said().splitlines()[-1].startswith("odradek: ")


def test_two_do_not_share_a_log_dir_or_a_port(tmp_path: Path) -> None:
    """The second one is told which it is; the first one does not notice."""
    (tmp_path / "second").mkdir()
    with serving(tmp_path / "first") as first:
        disk = str(tmp_path / "first" / "disk")
        other = Served(tmp_path / "second", log_dirs=disk)
        assert other.ended() == 1
        assert disk in other.said().splitlines()[-1]
        taken = f"PLAINTEXT://127.0.0.1:{first.port}"
        third = Served(tmp_path / "second", listeners=taken)
        assert third.ended() == 1
        assert f"listeners={taken}: Address already in use" in third.said()
        assert addresses(first, "127.0.0.1") == ["127.0.0.1 True"]


def test_a_broker_whose_last_log_dir_fails_ends_with_a_sentence(tmp_path: Path) -> None:
    """It names every dir, with what is wrong there."""
    dirs = [tmp_path / "broker" / name for name in ("one", "two")]
    settings = {
        "log_dirs": ",".join(map(str, dirs)),
        "num_partitions": "4",
        "replica_high_watermark_checkpoint_interval_ms": "100",
    }
    with serving(tmp_path / "broker", **settings) as served:
        producer = Producer({"bootstrap.servers": served.bootstrap, "linger.ms": 0})

        def are_offline(count: int) -> bool:
            for number in range(4):
                producer.produce("orders", b"x", partition=number)
            producer.poll(0)
            return served.said().count("log_dir.offline") == count

        producer.produce("orders", b"x")
        assert producer.flush(SECONDS_MAX) == 0
        for count, directory in enumerate(dirs, start=1):
            directory.rename(directory.with_name(f"{directory.name}-away"))
            directory.touch()
            eventually(lambda: are_offline(count))  # noqa: B023
        assert served.ended() == 1
        last = served.said().splitlines()[-1]
        assert last.startswith("odradek: ")
        assert "no log dir is left" in last
        assert all(f"{it}: " in last for it in dirs)
        assert "Not a directory" in last


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(tmp_path: Path, number: signal.Signals) -> None:
    """With a mark in its log dir that nothing needs to be checked."""
    with serving(tmp_path / "broker") as served:
        served.process.send_signal(number)
        assert served.ended() == 0
        assert (tmp_path / "broker" / "disk" / ".kafka_cleanshutdown").exists()


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    """Here the first one waits for a controller that does not answer, and has the tree, too."""
    tree = free_port()
    second = {"broker_id": "2", "zookeeper_connect": f"127.0.0.1:{tree}"}
    with (
        serving(tmp_path / "first", zookeeper_embedded_port=str(tree)) as first,
        serving(tmp_path / "second", **second) as served,
    ):
        first.process.send_signal(signal.SIGSTOP)
        try:
            served.process.send_signal(signal.SIGTERM)
            eventually(lambda: "broker.stopping" in served.said())
            served.process.send_signal(signal.SIGTERM)
            assert served.ended() == -signal.SIGTERM
        finally:
            first.process.send_signal(signal.SIGCONT)
        assert not (tmp_path / "second" / "disk" / ".kafka_cleanshutdown").exists()

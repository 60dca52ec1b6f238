"""`odradek doctor`, at brokers that clients cannot work with, each for a reason of its own."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Ended, Shell
from tests.external.ports import free_port
from tests.live.secured import TLS, USERS, login

CHECKS = {"port", "listener", "version", "clock", "limits", "disks", "coordinator", "health"}


@contextmanager
def running(directory: Path, **settings: str) -> Iterator[OdradekBroker]:
    """A broker of its own."""
    broker = OdradekBroker(directory, **settings)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


def examined(odradek: Shell, at: str, *arguments: str) -> Ended:
    """What is found there."""
    return odradek.run("doctor", "-b", at, "--json", *arguments)


def errors(ended: Ended) -> list[dict[str, Any]]:
    """Each with what to do."""
    found = [it for it in ended.json if it["level"] == "error"]
    assert all(it["next_step"] for it in found)
    return found


def test_nothing_is_wrong_and_nothing_is_changed(odradek: Shell, broker: OdradekBroker) -> None:
    """Every check is there; not even the topic of groups is made."""
    ended = examined(odradek, broker.bootstrap)
    assert (ended.code, errors(ended)) == (0, [])
    assert {it["check"] for it in ended.json} == CHECKS
    assert odradek("topic", "list", "--internal").rows == []


def test_a_record_goes_through_and_its_topic_is_gone(odradek: Shell, broker: OdradekBroker) -> None:
    """Only when it is asked for."""
    ended = examined(odradek, broker.bootstrap, "--probe")
    (found,) = [it for it in ended.json if it["check"] == "probe"]
    assert (ended.code, found["level"]) == (0, "ok")
    assert "was acknowledged after" in found["cause"]
    assert odradek("topic", "list").rows == []


def test_people_are_told_what_to_do(odradek: Shell, broker: OdradekBroker) -> None:
    """One address leads to a broker: that the other does not is a warning."""
    nobody = f"127.0.0.1:{free_port()}"
    ended = odradek.run("doctor", "-b", f"{nobody},{broker.bootstrap}")
    assert ended.code == 0
    assert f"warning: {nobody}: connection refused (127.0.0.1)\n  next: the machine" in ended.out
    assert f"ok: broker 1: {broker.bootstrap} is reachable from here\n" in ended.out
    assert " looked at: 0 errors, " in ended.out.splitlines()[-1]


def test_a_name_that_is_not_known_here(odradek: Shell, broker: OdradekBroker) -> None:
    """Nobody can be talked to: that is another exit code."""
    del broker
    ended = examined(odradek, "no-such-host.invalid:9092")
    (found,) = errors(ended)
    assert (ended.code, found["check"]) == (3, "name")


@pytest.mark.parametrize(
    ("advertised", "says"),
    [
        ("kafka-inside.invalid:9092", "no address is found for kafka-inside.invalid"),
        ("127.0.0.1:{free}", "which is this machine: connection refused"),
        ("{other}", "who answers there is not this broker: it belongs to cluster"),
    ],
)
def test_an_advertised_listener_that_leads_nowhere(
    odradek: Shell, broker: OdradekBroker, tmp_path: Path, *, advertised: str, says: str
) -> None:
    """As containers have it: the bootstrap server answers, and names what is right only inside."""
    where = advertised.format(free=free_port(), other=broker.bootstrap)
    with running(tmp_path / "inside", advertised_listeners=f"PLAINTEXT://{where}") as inside:
        ended = examined(odradek, inside.bootstrap)
        (found,) = errors(ended)
    assert (ended.code, found["check"], found["about"]) == (1, "listener", "broker 1")
    assert f"advertises {where}" in found["cause"]
    assert says in found["cause"]
    assert "advertised.listeners" in found["next_step"]


def two_listeners(advertised: str = "") -> dict[str, str]:
    """One for clients, and one by which brokers find each other."""
    inside = f"IN://127.0.0.1:{free_port()}"
    listeners = f"PLAINTEXT://127.0.0.1:{free_port()},{inside}"
    return {
        "listeners": listeners,
        "advertised_listeners": f"PLAINTEXT://{advertised},{inside}" if advertised else listeners,
        "listener_security_protocol_map": "PLAINTEXT:PLAINTEXT,IN:PLAINTEXT",
        "inter_broker_listener_name": "IN",
    }


@pytest.fixture(scope="module")
def two_at_one_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Two brokers that advertise one place: clients would ask one for what the other has."""
    ours = two_listeners()
    port = ours["listeners"].partition(",")[0].rpartition(":")[2]
    keeper = str(free_port())
    theirs = {"broker_id": "2", "zookeeper_connect": f"127.0.0.1:{keeper}"}
    folder = tmp_path_factory.mktemp("two")
    with (
        running(folder / "first", zookeeper_embedded_port=keeper, **ours),
        running(folder / "second", **two_listeners(f"localhost:{port}"), **theirs),
    ):
        yield port


def test_another_broker_of_the_same_cluster_is_told_apart(
    odradek: Shell, two_at_one_place: str
) -> None:
    """What is wrong with it is wrong in its own settings."""
    found = errors(examined(odradek, f"127.0.0.1:{two_at_one_place}"))
    (wrong,) = [it for it in found if it["check"] == "listener"]
    assert wrong["about"] == "broker 2"
    assert "who answers there is not this broker: this is broker 1, not 2" in wrong["cause"]


def test_no_verb_shows_what_one_broker_has_as_what_another_has(
    odradek: Shell, two_at_one_place: str
) -> None:
    """Those that ask each broker show the others all the same, and say so in the exit code."""
    odradek.bootstrap = f"127.0.0.1:{two_at_one_place}"
    told = (
        f"broker 2 advertises localhost:{two_at_one_place}, and who answers there says: "
        "this is broker 1, not 2; correct advertised.listeners of broker 2"
    )
    for verb in ("list", "describe", "partitions", "balance"):
        ended = odradek.run("logdirs", verb, "--json")
        brokers = {it["broker"] for it in ended.json}
        assert (ended.code, brokers - {1}, f"odradek: {told}" in ended.err) == (1, set(), True)
        assert brokers or verb in {"partitions", "balance"}
    clients = odradek.run("broker", "clients", "--seconds", "1", "--json")
    assert (clients.code, {it["broker"] for it in clients.json}) == (1, {1})
    cordon = ("logdirs", "cordon", "/disks/1", "--broker", "2")
    for call in (("broker", "describe", "2"), ("logdirs", "list", "--broker", "2"), cordon):
        assert told in odradek.fails(*call)
    odradek("broker", "describe", "1")


def test_health_says_which_setting_leads_elsewhere(odradek: Shell, two_at_one_place: str) -> None:
    """For programs by a kind of its own."""
    odradek.bootstrap = f"127.0.0.1:{two_at_one_place}"
    ended = odradek.run("cluster", "health", "--json")
    (found,) = [it for it in ended.json["problems"] if it["kind"] == "elsewhere"]
    assert (ended.code, found["brokers"]) == (1, [2])
    assert "this is broker 1, not 2; correct advertised.listeners of broker 2" in found["cause"]


def test_a_listener_for_others_is_only_noted(odradek: Shell, tmp_path: Path) -> None:
    """Clients here were not told of it."""
    listeners = f"PLAINTEXT://127.0.0.1:{(port := free_port())},IN://127.0.0.1:{free_port()}"
    with running(
        tmp_path / "two",
        listeners=listeners,
        advertised_listeners=f"PLAINTEXT://127.0.0.1:{port},IN://127.0.0.1:1",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,IN:PLAINTEXT",
    ):
        ended = examined(odradek, f"127.0.0.1:{port}")
    assert (ended.code, errors(ended)) == (0, [])
    (note,) = [it for it in ended.json if it["level"] == "note"]
    assert "its listener IN at 127.0.0.1:1 is not reachable" in note["cause"]


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Addresses by what is spoken there."""
    ports = {name: free_port() for name in ("PLAINTEXT", "SSL", "LOGIN")}
    with running(
        tmp_path_factory.mktemp("secured") / "broker",
        listeners=",".join(f"{name}://localhost:{port}" for name, port in ports.items()),
        sasl_enabled_mechanisms="PLAIN",
        listener_security_protocol_map="PLAINTEXT:PLAINTEXT,SSL:SSL,LOGIN:SASL_PLAINTEXT",
        listener_name_login_plain_sasl_jaas_config=USERS,
        **TLS,
    ):
        yield {name: f"localhost:{port}" for name, port in ports.items()}


@pytest.mark.parametrize(
    ("listener", "protocol", "check", "says"),
    [
        ("SSL", "PLAINTEXT", "protocol", "speaks TLS, and was asked without"),
        ("PLAINTEXT", "SSL", "protocol", "without TLS, and was asked in TLS"),
        ("SSL", "SSL", "tls", "the certificate is not believed"),
        ("LOGIN", "PLAINTEXT", "login", "it wants a login: PLAIN"),
    ],
)
def test_what_speaks_there_is_not_what_is_spoken_here(
    odradek: Shell, secured: dict[str, str], *, listener: str, protocol: str, check: str, says: str
) -> None:
    """The sentence names the setting that would mend it."""
    call = ("-X", f"security.protocol={protocol}")
    ended = examined(odradek, secured[listener], *call)
    (found,) = errors(ended)
    assert (ended.code, found["check"]) == (3, check)
    assert says in found["cause"]
    assert "security.protocol" in found["next_step"] or "ssl." in found["next_step"]


@pytest.mark.parametrize(("password", "code"), [("alice-secret", 0), ("wrong", 3)])
def test_a_login_is_tried(
    odradek: Shell, secured: dict[str, str], password: str, code: int
) -> None:
    """With the settings that the client has."""
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login("PLAIN", "alice", password),
    }
    given = [word for pair in settings.items() for word in ("-X", "=".join(pair))]
    ended = examined(odradek, secured["LOGIN"], *given)
    assert ended.code == code, ended
    assert [it["check"] for it in errors(ended)] == (["login"] if code else [])
    assert password not in ended.out


def test_a_server_that_is_silent_is_told_of_in_time(odradek: Shell, broker: OdradekBroker) -> None:
    """It takes connections and never answers; the doctor does not wait for it."""
    del broker
    with socket.create_server(("127.0.0.1", 0)) as silent:
        at = "{}:{}".format(*silent.getsockname())
        ended = examined(odradek, at, "--timeout", "0.1")
    (found,) = errors(ended)
    assert ended.code == 3
    assert "something listens and does not answer: no answer within 0.1 s" in found["cause"]
    assert "a broker that is stopped (SIGSTOP)" in found["next_step"]

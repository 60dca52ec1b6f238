"""Access rules in the hands of operators and of other people's clients, on a live broker.

alice and admin log in by SCRAM; admin is a super user, and so is the broker's own listener's name.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, KafkaError, Producer

from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell
from tests.external.ports import free_port
from tests.live.secured import PASSWORD, login

MECHANISM: Final = "SCRAM-SHA-512"


class Ruled(OdradekBroker):
    """A broker with an authorizer; its own listener is anonymous, the clients' asks for names."""

    host = "localhost"

    def __init__(self, directory: Path) -> None:
        self.clients_port = free_port()
        super().__init__(
            directory,
            **{
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CLIENTS:SASL_PLAINTEXT",
                "sasl.enabled.mechanisms": MECHANISM,
                "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
                "super.users": "User:ANONYMOUS;User:admin",
            },
        )
        own = f"CLIENTS://localhost:{self.clients_port}"
        self._settings["listeners"] = f"PLAINTEXT://localhost:{self.port},{own}"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ruled]:
    """One for all tests."""
    broker = Ruled(tmp_path_factory.mktemp("ruled") / "broker")
    broker.start()
    yield broker
    broker.stop()
    assert "Traceback" not in broker.log()


@pytest.fixture
def shell(
    broker: Ruled, capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Shell:
    """The operator's; alice has her password."""
    shell = Shell(capsysbinary, monkeypatch)
    shell.bootstrap = broker.bootstrap
    shell("user", "add", "alice", "--password", PASSWORD)
    return shell


def alice(broker: Ruled, **more: Any) -> dict[str, Any]:
    """Her client's settings."""
    return {
        "bootstrap.servers": f"localhost:{broker.clients_port}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": MECHANISM,
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
        "log_level": 0,
        **more,
    }


def send(broker: Ruled, topic: str, value: bytes) -> KafkaError | None:
    """What becomes of a record of alice's."""
    found: list[KafkaError | None] = []
    producer = Producer(alice(broker, **{"message.timeout.ms": 20_000}))
    producer.produce(topic, value, on_delivery=lambda error, _: found.append(error))
    assert producer.flush(30) == 0
    return found[0]


def test_allowed_denied_and_revoked(broker: Ruled, shell: Shell) -> None:
    """A client gets what the rules of now say, also one that waits in a fetch when they change."""
    shell("topic", "create", "orders")
    refused = send(broker, "orders", b"a")
    assert refused is not None
    assert refused.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    who = ("--allow-principal", "User:alice")
    said = shell(
        "acl", "add", *who, "--producer", "--consumer", "--topic", "orders", "--group", "g"
    )
    assert "User:alice may Write topic orders" in said.out
    assert send(broker, "orders", b"b") is None
    settings = {"group.id": "g", "auto.offset.reset": "earliest", "fetch.wait.max.ms": 20_000}
    consumer = Consumer(alice(broker, **{"enable.auto.commit": False, **settings}))
    consumer.subscribe(["orders"])
    message = next(filter(None, (consumer.poll(1) for _ in range(30))))
    assert (message.error(), message.value()) == (None, b"b")
    shell(
        "acl", "add", "--deny-principal", "User:alice", "--operation", "Read", "--topic", "orders"
    )
    shell("produce", "orders", said=b"c\n")
    after = next(filter(None, (consumer.poll(1) for _ in range(40))))
    assert after.error().code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
    denied = ("--principal", "User:alice", "--operation", "Read", "--topic", "orders")
    asked = shell.fails("acl", "remove", *denied, code=2)
    assert asked.endswith(": not done without --yes\n")
    assert "User:alice may not Read topic orders" in asked
    assert "\tDeny\t" in shell("acl", "list", "--topic", "orders").out
    shell("acl", "remove", "--deny-principal", "User:alice", "--topic", "orders", "--yes")
    again = next(
        it for it in filter(None, (consumer.poll(1) for _ in range(40))) if it.error() is None
    )
    assert again.value() == b"c"
    consumer.close()


def test_who_may_not_change_rules(broker: Ruled, shell: Shell, tmp_path: Path) -> None:
    """Who has no right can list and change none; the refusal is the cluster's."""
    file = tmp_path / "alice.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\n"
        f"sasl.mechanism={MECHANISM}\nsasl.jaas.config={login(MECHANISM)}\n"
    )
    shell.bootstrap = f"localhost:{broker.clients_port}"
    own = ("--command-config", str(file))
    everything = ("--allow-principal", "User:alice", "--topic", "*")
    for call in (("list",), ("add", *everything)):
        assert "CLUSTER_AUTHORIZATION_FAILED" in shell.fails("acl", *call, *own)


def test_kafkas_script(broker: Ruled, shell: Shell) -> None:
    """Added, listed by a name that falls under the prefix, and removed, with `kafka-acls`."""
    rule = (
        "--topic",
        "pre",
        "--resource-pattern-type",
        "prefixed",
        "--allow-principal",
        "User:bob",
    )
    added = shell("kafka-acls", "--add", *rule, "--operation", "Read").out
    resource = "ResourcePattern(resourceType=TOPIC, name=pre, patternType=PREFIXED)"
    row = " \t(principal=User:bob, host=*, operation=READ, permissionType=ALLOW)"
    assert added == f"Adding ACLs for resource `{resource}`: \n{row} \n\n"
    match = ("--topic", "prefix", "--resource-pattern-type", "match")
    listed = shell("kafka-acls", "--list", *match).out
    assert listed == f"Current ACLs for resource `{resource}`: \n{row} \n\n"
    gone = ("kafka-acls", "--remove", *rule, "--operation", "Read")
    assert "Are you sure you want to remove ACLs" in shell(*gone, said=b"n\n").out
    assert shell("kafka-acls", "--list", *match).out == listed
    assert shell(*gone, "--force").out == ""
    assert shell("kafka-acls", "--list", *match).out == ""


def test_what_a_principal_may_do_and_why(broker: Ruled, shell: Shell) -> None:
    """Each decision with the rule behind it; what is said is what a client meets."""
    shell("topic", "create", "why")
    bob, both = ("--allow-principal", "User:bob"), ("--principal", "User:bob", "--topic", "why")
    shell("acl", "add", *bob, "--operation", "Write", "--topic", "why")
    shell("acl", "add", "--deny-principal", "User:bob", "--operation", "Create", "--topic", "why")
    found = {it["operation"]: it for it in shell("security", "check", *both, "--json").json}
    assert found["Write"]["allowed"] is True
    assert found["Write"]["because"] == "User:bob may Write topic why"
    assert found["Describe"]["because"] == "User:bob may Write topic why"
    assert found["Create"]["because"] == "User:bob may not Create topic why"
    assert (found["Read"]["allowed"], found["Read"]["because"]) == (False, "no rule allows it")
    (row,) = shell("security", "check", *both, "--operation", "Read").rows
    assert row == ["Topic", "why", "Read", "no", "no rule allows it"]
    everything = shell("security", "check", "--principal", "User:bob", "--json").json
    assert {it["resource"] for it in everything} == {"Topic", "Cluster"}
    admin = shell("security", "check", "--principal", "User:admin", "--cluster", "--json").json
    assert {(it["allowed"], it["because"]) for it in admin} == {(True, "a super user")}

"""Names and passwords in a JAAS file, as Kafka's own processes take them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compat.broker_process import OdradekBroker
from tests.compat.odradek_shell import Shell
from tests.external.ports import free_port
from tests.live.secured import PASSWORD, PLAIN_MODULE, SCRAM_MODULE

FILE = f"""
login.KafkaServer {{
    {PLAIN_MODULE} required username="broker" password="b-secret"
        user_broker="b-secret" user_alice="{PASSWORD}";
    {SCRAM_MODULE} required;
}};
KafkaServer {{ {PLAIN_MODULE} required user_bob="{PASSWORD}"; }};
KafkaClient {{ {PLAIN_MODULE} required username="alice" password="{PASSWORD}"; }};
"""


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OdradekBroker]:
    """Whose settings hold no password."""
    file = tmp_path / "jaas.conf"
    file.write_text(FILE)
    login, own = free_port(), free_port()
    broker = OdradekBroker(
        tmp_path / "broker",
        **{
            "listeners": f"LOGIN://127.0.0.1:{login},OTHER://127.0.0.1:{own}",
            "listener.security.protocol.map": "LOGIN:SASL_PLAINTEXT,OTHER:SASL_PLAINTEXT",
            "inter.broker.listener.name": "LOGIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "java.security.auth.login.config": str(file),
        },
    )
    broker.port = login
    broker.other = f"127.0.0.1:{own}"  # type: ignore[attr-defined]
    broker.start()
    yield broker
    broker.kill()
    assert PASSWORD not in broker.log()


def test_brokers_and_the_command_take_their_sections(
    broker: OdradekBroker,
    tmp_path: Path,
    capfdbinary: pytest.CaptureFixture[bytes],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Alice is known at the listener that has a section of its own, and not at the other one."""
    option = f"-Xmx64m -Djava.security.auth.login.config={tmp_path / 'jaas.conf'}"
    monkeypatch.setenv("KAFKA_OPTS", option)
    shell = Shell(capfdbinary, monkeypatch)
    said = ("-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=PLAIN")
    shell.bootstrap = broker.bootstrap
    shell("topic", "create", "orders", "-p", "1", *said)
    assert "orders" in shell("topic", "list", *said).out
    shell.bootstrap = broker.other  # type: ignore[attr-defined]
    assert "Invalid username or password" in shell.fails("topic", "list", *said)

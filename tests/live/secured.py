"""Settings of brokers and clients that prove their names, with the certificates of the tests."""

from pathlib import Path
from typing import Final

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from tests.compat.broker_process import OdradekBroker
from tests.external.ports import free_port
from tests.samples.certificate_files import certificates

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
PASSWORD: Final = "alice-secret"
TLS: Final = {
    "ssl.keystore.location": certificates("broker.pem"),
    "ssl.truststore.location": certificates("trusted.jks"),
    "ssl.truststore.password": "trust-secret",
}
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LISTENERS: Final = {"SASL_PLAINTEXT": "NAMED", "SASL_SSL": "BOTH", "SSL": "CERT"}
USERS: Final = f'{PLAIN_MODULE} required user_alice="{PASSWORD}";'


def login(mechanism: str, name: str = "alice", password: str = PASSWORD) -> str:
    """A client's login module."""
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    return f'{module} required username="{name}" password="{password}";'


def java_settings(protocol: str, mechanism: str) -> dict[str, str]:
    """As Kafka's own clients have them, and ours."""
    settings = {"security.protocol": protocol}
    if mechanism:
        settings |= {"sasl.mechanism": mechanism, "sasl.jaas.config": login(mechanism)}
    if protocol.endswith("SSL"):
        settings["ssl.truststore.location"] = certificates("trusted.crt")
    if protocol == "SSL":
        settings["ssl.keystore.location"] = certificates("client.pem")
    return settings


class Secured(OdradekBroker):
    """A broker with four listeners."""

    host = "localhost"

    def __init__(self, directory: Path, **more: str) -> None:
        self.ports = {protocol: free_port() for protocol in LISTENERS}
        own = ",".join(f"{LISTENERS[it]}://localhost:{port}" for it, port in self.ports.items())
        mapped = ",".join(f"{name}:{protocol}" for protocol, name in LISTENERS.items())
        self.admin_port = free_port()
        super().__init__(
            directory,
            **{
                "admin.listener": f"127.0.0.1:{self.admin_port}",
                "admin.listener.ssl.keystore.location": TLS["ssl.keystore.location"],
                "admin.listener.token": PASSWORD,
                "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{mapped}",
                "sasl.enabled.mechanisms": ",".join(MECHANISMS),
                "listener.name.named.plain.sasl.jaas.config": USERS,
                "listener.name.both.plain.sasl.jaas.config": USERS,
                "listener.name.cert.ssl.client.auth": "required",
                "connection.failed.authentication.delay.ms": "5",
                **TLS,
                **more,
            },
        )
        self._settings["listeners"] = f"PLAINTEXT://localhost:{self.port},{own}"

    def at(self, protocol: str) -> str:
        """The address of a listener."""
        return f"localhost:{self.ports[protocol]}"

    def add_alice(self) -> None:
        """Her password, of each kind of SCRAM."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for mechanism in (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512):
            info = ScramCredentialInfo(mechanism, 4_096)
            wanted = UserScramCredentialUpsertion("alice", info, PASSWORD.encode())
            for future in admin.alter_user_scram_credentials([wanted]).values():
                future.result(20)

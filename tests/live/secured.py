"""Settings of brokers and clients that prove their names, with the certificates of the tests."""

from typing import Final

from tests.samples.certificate_files import certificates

PLAIN_MODULE: Final = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
PASSWORD: Final = "alice-secret"
TLS: Final = {
    "ssl.keystore.location": certificates("broker.pem"),
    "ssl.truststore.location": certificates("trusted.jks"),
    "ssl.truststore.password": "trust-secret",
}
USERS: Final = f'{PLAIN_MODULE} required user_alice="{PASSWORD}";'


def login(mechanism: str, name: str = "alice", password: str = PASSWORD) -> str:
    """A client's login module."""
    module = PLAIN_MODULE if mechanism == "PLAIN" else SCRAM_MODULE
    return f'{module} required username="{name}" password="{password}";'

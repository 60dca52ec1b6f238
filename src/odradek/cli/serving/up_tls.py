"""`odradek up --tls`: an authority for this directory alone, and two names with passwords.

Below `tls/`: `ca.pem`, which clients believe; `broker.pem`, of all brokers; `client.properties`,
which the command and Kafka's scripts take as it is. Only the owner may read what is secret. They
are made once; the authority's own key is not kept, so nothing else is ever signed by it.
"""

import json
import os
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, NamedTuple

from odradek.model.errors import InvalidSetting
from odradek.runtime.doors.chance import SystemRandom
from odradek.runtime.doors.clock import SystemClock
from odradek.security.extra import needed

USER: Final = "me"
BROKER: Final = "broker"
MECHANISM: Final = "SCRAM-SHA-512"
DAYS: Final = 365
FOLDER: Final = "tls"
PASSWORDS: Final = "passwords.json"
PASSWORD_BYTES: Final = 12
HOST: Final = "127.0.0.1"
_CLASSES: Final = "org.apache.kafka.common.security"
_X509: Final = "cryptography.x509"
_PRIMITIVES: Final = "cryptography.hazmat.primitives"


class Secured(NamedTuple):
    """What is below `tls/`."""

    folder: Path
    passwords: dict[str, str]

    def __repr__(self) -> str:
        return f"Secured({self.folder})"

    @property
    def client_file(self) -> Path:
        """Settings of a client."""
        return self.folder / "client.properties"

    def of_brokers(self, client_port: int, own_port: int) -> dict[str, str]:
        """Settings of a broker: clients log in by SCRAM, other brokers by PLAIN, all within TLS."""
        secret = self.passwords[BROKER]
        return {
            "listeners": f"CLIENTS://{HOST}:{client_port},BROKERS://{HOST}:{own_port}",
            "listener.security.protocol.map": "CLIENTS:SASL_SSL,BROKERS:SASL_SSL",
            "inter.broker.listener.name": "BROKERS",
            "listener.name.clients.sasl.enabled.mechanisms": MECHANISM,
            "listener.name.brokers.sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.brokers.plain.sasl.jaas.config": (
                f"{_CLASSES}.plain.PlainLoginModule required "
                f'username="{BROKER}" password="{secret}" user_{BROKER}="{secret}";'
            ),
            "ssl.keystore.location": str(self.folder / "broker.pem"),
            "ssl.truststore.location": str(self.folder / "ca.pem"),
        }

    def as_broker(self) -> dict[str, str]:
        """Settings of a client at the listener of brokers: it adds the user."""
        module = f"{_CLASSES}.plain.PlainLoginModule required"
        return self._client("PLAIN", module, BROKER)

    def write_client_file(self, bootstrap: str) -> None:
        """Anew at each start: ports may have changed."""
        module = f"{_CLASSES}.scram.ScramLoginModule required"
        settings = {"bootstrap.servers": bootstrap, **self._client(MECHANISM, module, USER)}
        settings["ssl.truststore.type"] = "PEM"  # Java asks
        text = "".join(f"{name}={value}\n" for name, value in settings.items())
        _write(self.client_file, text.encode())

    def _client(self, mechanism: str, module: str, name: str) -> dict[str, str]:
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} username="{name}" password="{self.passwords[name]}";',
            "ssl.truststore.location": str(self.folder / "ca.pem"),
        }


def secured(data: Path) -> Secured:
    """What is there, or is made now; InvalidSetting says why it cannot be.

    The passwords are written last: with them the folder is of `up`, and whole.
    """
    folder = data.absolute() / FOLDER
    kept = folder / PASSWORDS
    if not kept.exists():
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise InvalidSetting(
                f"{folder} holds certificates that `up` did not make, or not wholly"
            )
        _make_certificates(folder)
        made = {name: _password() for name in (USER, BROKER)}
        _write(kept, json.dumps(made).encode())
    return Secured(folder, json.loads(kept.read_bytes()))


def _make_certificates(folder: Path) -> None:
    forms = needed(f"{_PRIMITIVES}.serialization", "--tls")
    x509 = needed(_X509, "--tls")
    curves = needed(f"{_PRIMITIVES}.asymmetric.ec", "--tls")
    authority_key, key = (curves.generate_private_key(curves.SECP256R1()) for _ in range(2))
    name = _name(x509, "odradek up")
    authority = _begun(x509, name, authority_key.public_key(), name)
    authority = authority.add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    broker = _begun(x509, _name(x509, "localhost"), key.public_key(), name)
    hosts = [x509.DNSName("localhost"), x509.IPAddress(ip_address(HOST))]
    broker = broker.add_extension(x509.SubjectAlternativeName(hosts), critical=False)
    hashing = needed(f"{_PRIMITIVES}.hashes", "--tls").SHA256()
    pem = forms.Encoding.PEM
    ca, leaf = (it.sign(authority_key, hashing).public_bytes(pem) for it in (authority, broker))
    own = key.private_bytes(pem, forms.PrivateFormat.PKCS8, forms.NoEncryption())
    _write(folder / "ca.pem", ca, mode=0o644)
    _write(folder / "broker.pem", leaf + own)


def _name(x509: Any, text: str) -> Any:
    return x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, text)])


def _begun(x509: Any, subject: Any, public: Any, issuer: Any) -> Any:
    now = datetime.fromtimestamp(SystemClock().wall() // 1_000, UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=DAYS))
    )


def _password() -> str:
    return urlsafe_b64encode(SystemRandom().bytes(PASSWORD_BYTES)).decode()


def _write(file: Path, data: bytes, mode: int = 0o600) -> None:
    """At once, and never readable by others meanwhile."""
    fresh = file.with_name(f"{file.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as opened:
        opened.write(data)
    fresh.replace(file)

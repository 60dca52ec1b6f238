"""Who may ask a registry, and whom it is taken for."""

import datetime as dt
import ipaddress
import json
import pickle
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from odradek.pipelines.definition.definition import parse
from odradek.pipelines.definition.sections import WrongFile
from odradek.pipelines.errors import Away, InvalidOption
from odradek.pipelines.formats.avro_values import AvroValues
from odradek.pipelines.formats.registry import (
    RegistryFailed,
    SchemaRegistry,
    registry_of,
    schema_by_id,
)

SECRET = "never-shown"


@contextmanager
def serving(
    login: str = "", *, tls: ssl.SSLContext | None = None, to: str = ""
) -> Iterator[tuple[str, list[str | None]]]:
    """A registry that wants this login, or sends elsewhere; its address and what it was given."""
    given: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """The number of the schema is in it."""
            given.append(self.headers.get("Authorization"))
            is_known = not login or given[-1] == login
            self.send_response(302 if to else 200 if is_known else 401)
            self.send_header("Location", f"{to}{self.path}")
            self.end_headers()
            self.wfile.write(json.dumps({"schema": json.dumps(self.path)}).encode())

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.01,)).start()
        yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}", given
        server.shutdown()


@pytest.mark.parametrize(
    ("options", "login"),
    [
        ({"username": "me", "password": "pass"}, "Basic bWU6cGFzcw=="),
        ({"token": SECRET}, f"Bearer {SECRET}"),
    ],
)
def test_a_login(options: dict[str, str], login: str) -> None:
    """Given with each request; without it the sentence says where it belongs."""
    with serving(login) as (url, given):
        assert schema_by_id(registry_of(url, options), 7) == "/schemas/ids/7"
        with pytest.raises(RegistryFailed, match=r"401 .*values\.registry-options") as met:
            schema_by_id(registry_of(url, {"token": "wrong-one"}), 7)
        assert not isinstance(met.value, Away)
        assert "wrong-one" not in str(met.value)
    assert given == [login, "Bearer wrong-one"]


def test_a_login_goes_to_the_registry_alone() -> None:
    """Not to where it sends us."""
    with serving() as (elsewhere, given), serving(to=elsewhere) as (url, first):
        assert schema_by_id(registry_of(url, {"token": SECRET}), 3) == "/schemas/ids/3"
    assert (first, given) == ([f"Bearer {SECRET}"], [None])


def test_a_secret_that_stands_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked up where the run was begun, goes to the workers, and is never shown."""
    (tmp_path / "password").write_text(f"{SECRET}\n")
    monkeypatch.setenv("REGISTRY_USER", "me")
    options = {"username": "${env:REGISTRY_USER}", "password": f"${{file:{tmp_path}/password}}"}
    source = {"bootstrap-server": "x:1", "topics": ["t"]}
    table = {"location": "delta:t"}
    values = {"format": "avro", "registry": "https://r:8081", "registry-options": options}
    content = {"name": "p", "source": source, "table": table, "values": values}
    definition = parse(content, tmp_path)
    sent = pickle.dumps(definition.archive.values)
    monkeypatch.delenv("REGISTRY_USER")
    (tmp_path / "password").unlink()
    there = pickle.loads(sent)
    assert isinstance(there, AvroValues)
    assert dict(there.registry.options) == {"username": "me", "password": SECRET}
    for shown in repr(definition), repr(there), f"{there.registry}":
        assert SECRET not in shown
    with pytest.raises(InvalidOption, match="no REGISTRY_USER in the environment"):
        pickle.dumps(definition.archive.values)


@pytest.mark.parametrize(
    ("url", "options", "reason"),
    [
        ("https://r", {"user": "me"}, "no option 'user'; did you mean 'username'"),
        ("https://r", {"username": "me"}, "'username' needs 'password'"),
        ("https://r", {"key-file": "k"}, "'key-file' needs 'certificate-file'"),
        ("https://r", {"username": "a", "password": "b", "token": "c"}, "give one"),
        (f"https://me:{SECRET}@r", {}, "give username and password as options"),
        ("ftp://r", {}, "no URL"),
        ("https://", {}, "no URL"),
    ],
)
def test_what_is_refused(url: str, options: dict[str, str], reason: str) -> None:
    """By the file's check; a password in a URL is not repeated."""
    content = {
        "name": "p",
        "source": {"bootstrap-server": "x:1", "topics": ["t"]},
        "table": {"location": "delta:t"},
        "values": {"format": "json-schema", "registry": url, "registry-options": options},
    }
    with pytest.raises(WrongFile, match=r"values\.registry") as met:
        parse(content, Path("/x"))
    assert reason in str(met.value)
    assert SECRET not in str(met.value)


# TLS

Issue = Callable[[str], tuple[Path, Path]]
"""A certificate and its key of somebody, signed by the authority."""


@pytest.fixture
def issue(tmp_path: Path) -> Issue:
    """An authority, whose own certificate is `ca.pem`."""
    authority = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])

    def made(of: str, *, key: ec.EllipticCurvePrivateKey, is_authority: bool = False) -> Path:
        subject = name if is_authority else x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, of)])
        now = dt.datetime.now(dt.UTC)
        place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
        found = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(days=1))
            .not_valid_after(now + dt.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
            .add_extension(place, critical=False)
            .sign(authority, hashes.SHA256())
        )
        path = tmp_path / f"{of}.pem"
        path.write_bytes(found.public_bytes(serialization.Encoding.PEM))
        return path

    made("ca", key=authority, is_authority=True)

    def issued(of: str) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        secret = serialization.BestAvailableEncryption(SECRET.encode())
        text = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            secret if of == "client" else serialization.NoEncryption(),
        )
        (tmp_path / f"{of}.key").write_bytes(text)
        return made(of, key=key), tmp_path / f"{of}.key"

    return issued


def test_a_registry_with_a_certificate_of_its_own(issue: Issue, tmp_path: Path) -> None:
    """Without its authority it is not taken for the registry, and waiting would not mend that."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*issue("server"))
    with serving(tls=tls) as (url, _):
        trusting = registry_of(url, {"ca-file": str(tmp_path / "ca.pem")})
        assert schema_by_id(trusting, 5) == "/schemas/ids/5"
        with pytest.raises(RegistryFailed, match="certificate verify failed") as met:
            schema_by_id(SchemaRegistry(url), 5)
        assert not isinstance(met.value, Away)
    with pytest.raises(InvalidOption, match="ca-file of the registry"):
        schema_by_id(registry_of(url, {"ca-file": str(tmp_path / "none.pem")}), 5)


def test_a_registry_that_wants_a_certificate(issue: Issue, tmp_path: Path) -> None:
    """Of the client, whose key is kept by a password."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(*issue("server"))
    tls.verify_mode = ssl.CERT_REQUIRED
    tls.load_verify_locations(tmp_path / "ca.pem")
    certificate, key = issue("client")
    options = {
        "ca-file": str(tmp_path / "ca.pem"),
        "certificate-file": str(certificate),
        "key-file": str(key),
        "key-password": SECRET,
    }
    with serving(tls=tls) as (url, _):
        assert schema_by_id(registry_of(url, options), 6) == "/schemas/ids/6"
        with pytest.raises(RegistryFailed):
            schema_by_id(registry_of(url, {"ca-file": options["ca-file"]}), 6)

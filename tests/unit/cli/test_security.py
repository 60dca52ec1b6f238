"""`odradek security check`, as far as it needs no broker."""

from pathlib import Path

import pytest

from tests.compat.odradek_shell import Shell
from tests.samples.certificate_files import certificates

END = 1_609_459_200_000
"""Of old.pem: the first second of 2021."""


@pytest.fixture
def shell(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Of nobody's cluster."""
    return Shell(capsysbinary, monkeypatch)


def test_key_stores_of_a_file(shell: Shell, tmp_path: Path) -> None:
    """The one for all listeners, and each that a listener has for itself."""
    file = tmp_path / "server.properties"
    old, new = certificates("old.pem"), certificates("broker.pem")
    file.write_text(
        f"ssl.keystore.location={old}\nlistener.name.outside.ssl.keystore.location={new}\n"
        "listener.name.inside.ssl.client.auth=none\n"
    )
    found = shell("security", "check", "--file", str(file), "--json").json
    assert [(it["of"], it["listener"]) for it in found] == [
        (old, "*"),
        (new, "outside"),
        (old, "inside"),
    ]
    assert found[0]["ends"] == found[2]["ends"] == END
    assert found[1]["ends"] > END


def test_a_file_without_key_stores(shell: Shell, tmp_path: Path) -> None:
    """There is nothing to renew."""
    file = tmp_path / "client.properties"
    file.write_text("security.protocol=SSL\nssl.truststore.location=/nowhere/ca.pem\n")
    assert shell("security", "check", "--file", str(file), "--json").json == []


def test_a_key_store_that_cannot_be_read(shell: Shell, tmp_path: Path) -> None:
    """The sentence names the file."""
    file = tmp_path / "client.properties"
    file.write_text("ssl.keystore.location=/nowhere/key.pem\n")
    assert "/nowhere/key.pem" in shell.fails("security", "check", "--file", str(file))


def test_certificates_or_rights(shell: Shell, tmp_path: Path) -> None:
    """One question at a time."""
    file = tmp_path / "client.properties"
    file.write_text("")
    both = ("--file", str(file), "--principal", "User:alice")
    ended = shell.run("security", "check", *both)
    assert (ended.code, ended.out) == (2, "")
    assert "--file is about certificates" in ended.err

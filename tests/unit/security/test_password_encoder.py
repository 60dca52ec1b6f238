"""Passwords in ZooKeeper: Java's are read, what is written says how, nothing else is believed."""

import random
from base64 import b64encode
from pathlib import Path

import pytest

from odradek.config.kinds import Secret
from odradek.config.rows.security import CBC, GCM
from odradek.model.errors import InvalidSetting
from odradek.security.password_encoder import NotDecoded, Way, check, decode, encode

OF_JAVA = (Path(__file__).parents[2] / "samples" / "encoded_passwords.txt").read_text().splitlines()
"""Made by javax.crypto: CBC with SHA-512, GCM with SHA-256 and 256 bits, CBC with SHA-1 and 192."""
SECRET, PASSWORD = Secret("der Schlüssel"), "päss 🔑"
CHANCE = random.Random(33)


@pytest.mark.parametrize("text", OF_JAVA)
def test_what_java_has_encrypted_is_read(text: str) -> None:
    """With the right secret alone; its length counts in units of UTF-16."""
    assert decode(text, SECRET) == PASSWORD
    with pytest.raises(NotDecoded, match="another secret"):
        decode(text, Secret("another"))


@pytest.mark.parametrize("way", [Way(), Way(GCM), Way(CBC, "PBKDF2WithHmacSHA256", 256, 1024)])
def test_what_is_written_is_read(way: Way) -> None:
    """Whatever the password is; twice the same one looks different."""
    for password in ("", "a", PASSWORD, "x" * 4_096, "a,b:c"):
        text = encode(password, SECRET, way, CHANCE.randbytes)
        assert decode(text, SECRET) == password
        assert encode(password, SECRET, way, CHANCE.randbytes) != text
        assert not password or f"{password}," not in text
    check(SECRET, way)


def test_the_text_has_kafkas_names() -> None:
    """All that it needs, for each way."""
    names = [it.partition(":")[0] for it in encode("", SECRET, Way(), bytes).split(",")]
    assert sorted(names) == sorted(it.partition(":")[0] for it in OF_JAVA[0].split(","))
    names = [it.partition(":")[0] for it in encode("", SECRET, Way(GCM), bytes).split(",")]
    assert sorted(names) == sorted(it.partition(":")[0] for it in OF_JAVA[1].split(","))


@pytest.mark.parametrize(
    ("part", "instead", "says"),
    [
        ("keyLength:128", "keyLength:129", "AES has no keys of 129 bits"),
        ("iterations:4096", "iterations:1000001", "1000001 iterations are out of bounds"),
        ("AES/CBC/PKCS5Padding", "DES/CBC/PKCS5Padding", "cipher DES/CBC/PKCS5Padding"),
        ("PBKDF2WithHmacSHA512", "PBEWithMD5AndDES", "PBEWithMD5AndDES makes no keys"),
        ("iterations:4096,", "", "not encrypted as Kafka does"),
        ("iterations:4096", "iterations:x", "not encrypted as Kafka does"),
        ("salt:", "salt:!", "not encrypted as Kafka does"),
        ("encryptedPassword:", "encryptedPassword:AAAA", "another secret"),
        ("passwordLength:7", "passwordLength:8", "another secret"),
    ],
)
def test_what_is_none_is_refused(part: str, instead: str, says: str) -> None:
    """Also where it asks for more work than a password is worth."""
    assert part in OF_JAVA[0]
    with pytest.raises(NotDecoded, match=says):
        decode(OF_JAVA[0].replace(part, instead), SECRET)


def test_whatever_stands_there_is_refused() -> None:
    """Passwords that are not encrypted, and bytes by chance in each field."""
    for text in ("", "secret", "a:b,c", OF_JAVA[0][:200], OF_JAVA[1].replace(":", "")):
        with pytest.raises(NotDecoded):
            decode(text, SECRET)
    for line in OF_JAVA:
        for name in ("salt", "initializationVector", "encryptedPassword"):
            fields = dict(it.split(":") for it in line.split(","))
            fields["iterations"] = "1"
            for size in (0, 1, 15, 16, 17, 32):
                fields[name] = b64encode(CHANCE.randbytes(size)).decode()
                with pytest.raises(NotDecoded):
                    decode(",".join(f"{it}:{value}" for it, value in fields.items()), SECRET)


def test_what_cannot_be_used_is_said_at_once() -> None:
    """Before a password would be set."""
    with pytest.raises(InvalidSetting, match="AES has no keys of 136 bits"):
        check(SECRET, Way(key_bits=136))

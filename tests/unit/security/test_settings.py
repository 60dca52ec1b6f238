"""What settings say about security, and what is refused before anything starts."""

import sys
from pathlib import Path

import pytest

from odradek.model.errors import InvalidSetting
from odradek.security.certificates import java_store
from odradek.security.certificates.certificate_names import name_of, parse_rules, principal_name
from odradek.security.certificates.der import MalformedCertificate
from odradek.security.certificates.tls_contexts import (
    certificate_ends,
    client_context,
    server_context,
)
from odradek.security.certificates.tls_settings import tls_settings
from odradek.security.client_settings import client_security
from odradek.security.errors import AuthenticationFailed
from odradek.security.jaas import PLAIN, SCRAM_SHA_256, parse_jaas
from odradek.security.scram_changes import Deletion, Upsertion, changed, described
from tests.samples.certificate_files import certificates
from tests.samples.subjects import UTF8, certificate_of, relative_name, subject

MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"


def read(path: str) -> bytes:
    """A file."""
    return Path(path).read_bytes()


def test_a_login_module_shows_no_secret() -> None:
    """Words in quotation marks, with and without marks of their own."""
    text = f'{MODULE} required username="al\\"ice" password=plain user_bob="b;=";'
    found = parse_jaas(text, PLAIN, "here")
    assert found.credentials == ('al"ice', "plain")
    assert found.users == {"bob": "b;="}
    assert "plain" not in repr(found).replace("PlainLoginModule", "").replace("security.plain", "")


def test_a_password_may_be_a_mark() -> None:
    """In quotation marks it is a letter; comments are left out, as in Kafka."""
    text = f'{MODULE} required /* of the tests */ username="=" // and\n password=";" user_b="}}";'
    found = parse_jaas(text, PLAIN, "here")
    assert found.credentials == ("=", ";")
    assert found.users == {"b": "}"}
    assert parse_jaas(found.text, PLAIN, "here").options == found.options


@pytest.mark.parametrize(
    ("text", "mechanism", "says"),
    [
        ("", PLAIN, "one login module"),
        (f"{MODULE} required", PLAIN, "a semicolon"),
        (f"{MODULE} required; {MODULE} required;", PLAIN, "one login module"),
        (f"{MODULE} username=a;", PLAIN, "must stand required"),
        (f"{MODULE} required username;", PLAIN, "name=value"),
        (f'{MODULE} required username="a;', PLAIN, "is not closed"),
        (f"{MODULE} required a=b;", SCRAM_SHA_256, "ScramLoginModule"),
        ("com.sun.security.auth.module.Krb5LoginModule required;", PLAIN, "not run here"),
    ],
)
def test_a_login_module_that_is_refused(text: str, mechanism: str, says: str) -> None:
    """No class of Java is run; the setting is named, its value is not."""
    with pytest.raises(InvalidSetting, match=says) as error:
        parse_jaas(text, mechanism, "sasl.jaas.config")
    assert str(error.value).startswith("sasl.jaas.config: ")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"security.protocol": "TLS"}, "must be one of"),
        ({"security.protocol": "SASL_SSL"}, "Kerberos is not spoken here"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "needs a name"),
        ({"security.protocol": "SSL", "ssl.enabled.protocols": "TLSv1.1"}, "is not spoken"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "TLS_RSA_WITH_NULL_MD5"}, "not offered"),
        ({"security.protocol": "SSL", "ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}, "all three"),
        ({"security.protocol": "SSL", "ssl.keystore.key": "x"}, "need each other"),
    ],
)
def test_a_clients_settings_that_are_refused(settings: dict[str, str], says: str) -> None:
    """A setting that seems to protect and does not is an error."""
    with pytest.raises(InvalidSetting, match=says):
        client_security(settings)


def test_stores_are_told_apart_by_what_is_in_them() -> None:
    """PEM, PEM in the setting itself, an encrypted key, and Java's trust store."""
    jks = {"ssl.truststore.location": certificates("trusted.jks")}
    secret = {"ssl.truststore.password": "trust-secret"}
    assert client_context(tls_settings(jks), read).get_ca_certs()
    assert client_context(tls_settings(jks | secret), read).get_ca_certs()
    inline = {"ssl.truststore.certificates": Path(certificates("trusted.crt")).read_text()}
    assert client_context(tls_settings(inline), read).get_ca_certs()
    server_context(tls_settings({"ssl.keystore.location": certificates("broker.pem")}), read)
    encrypted = {"ssl.keystore.location": certificates("encrypted.pem")}
    server_context(tls_settings(encrypted | {"ssl.key.password": "key-secret"}), read)


def test_pkcs12_as_java_and_openssl_make_it() -> None:
    """Whatever the store's type is said to be; when its certificate ends is known, too."""
    store = {"ssl.keystore.location": certificates("broker.p12"), "ssl.keystore.type": "JKS"}
    trust = {
        "ssl.truststore.location": certificates("trusted.p12"),
        "ssl.truststore.password": "trust-secret",
        "ssl.client.auth": "required",
    }
    settings = tls_settings({**store, "ssl.keystore.password": "key-secret", **trust})
    (authority,) = server_context(settings, read).get_ca_certs()
    assert authority["subject"] == ((("commonName", "Test CA"),),)
    as_pem = tls_settings({"ssl.keystore.location": certificates("broker.pem")})
    assert certificate_ends(settings, read) == certificate_ends(as_pem, read) is not None


def test_a_listener_offers_no_suite_that_is_known_to_be_weak() -> None:
    """Forward secrecy and authenticated encryption, where no setting names others: no CBC."""
    settings = tls_settings({"ssl.keystore.location": certificates("broker.pem")})
    for suite in server_context(settings, read).get_ciphers():
        assert suite["aead"], suite
        assert suite["protocol"] == "TLSv1.3" or "DHE" in suite["name"], suite


def test_a_store_that_needs_a_package_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is in an extra, which few installations need."""
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization.pkcs12", None)
    settings = tls_settings({"ssl.keystore.location": certificates("broker.p12")})
    with pytest.raises(InvalidSetting, match=r"broker\.p12: PKCS12 needs cryptography.*\[secure\]"):
        server_context(settings, read)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({}, "needs a certificate"),
        ({"ssl.keystore.location": certificates("broker.jks")}, "keytool -importkeystore"),
        ({"ssl.keystore.location": certificates("broker.p12")}, "broker.p12: .*password"),
        (
            {
                "ssl.keystore.location": certificates("trusted.p12"),
                "ssl.keystore.password": "trust-secret",
            },
            "no private key",
        ),
        (
            {
                "ssl.keystore.location": certificates("broker.pem"),
                "ssl.client.auth": "required",
                "ssl.truststore.location": certificates("broker.p12"),
                "ssl.truststore.password": "key-secret",
            },
            "this is a key store",
        ),
        (
            {
                "ssl.keystore.location": certificates("broker.pem"),
                "ssl.client.auth": "required",
                "ssl.truststore.location": certificates("trusted.p12"),
                "ssl.truststore.password": "wrong",
            },
            "trusted.p12: .*password",
        ),
        ({"ssl.keystore.location": "/nowhere"}, "=/nowhere: No such file"),
        ({"ssl.keystore.location": certificates("trusted.jks")}, "keytool -importkeystore"),
        ({"ssl.keystore.location": certificates("trusted.crt")}, "trusted.crt"),
        ({"ssl.keystore.location": certificates("encrypted.pem")}, "encrypted"),
        (
            {
                "ssl.keystore.location": certificates("broker.pem"),
                "ssl.client.auth": "required",
            },
            "needs it",
        ),
        (
            {
                "ssl.keystore.location": certificates("broker.pem"),
                "ssl.client.auth": "required",
                "ssl.truststore.location": certificates("trusted.jks"),
                "ssl.truststore.password": "wrong",
            },
            "the password is wrong",
        ),
    ],
)
def test_a_listener_without_what_it_needs_does_not_start(
    settings: dict[str, str], says: str
) -> None:
    """The setting and the file are named."""
    with pytest.raises(InvalidSetting, match=says):
        server_context(tls_settings(settings), read)


def test_half_a_trust_store() -> None:
    """Any part of it is refused."""
    data = read(certificates("trusted.jks"))
    for end in range(len(data)):
        with pytest.raises(InvalidSetting):
            java_store.certificates(data[:end], None)


def der(name: str) -> bytes:
    """The first certificate of a file."""
    import ssl

    text = Path(certificates(name)).read_text()
    end = text.index("-----END CERTIFICATE-----") + 25
    return ssl.PEM_cert_to_DER_cert(text[text.index("-----BEGIN CERT") : end])


def test_the_name_of_a_certificate_is_written_as_java_writes_it() -> None:
    """RFC 2253: the last part first, and marks within a part with a backslash."""
    assert name_of(der("broker.pem")) == "CN=localhost,OU=Tests,O=Odradek,C=AT"
    assert name_of(der("client.pem")) == r"CN=alice,OU=Tests,O=Odradek\, Ltd"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ((UTF8, b"a#b"), r"CN=a\#b"),
        ((UTF8, b" \r#a=b "), "CN=\\ \\\r\\#a\\=b\\ "),
        ((UTF8, b"   "), r"CN=\ \ \ "),
        ((UTF8, b"a\0b"), r"CN=a\00b"),
        ((UTF8, "Jürgen".encode()), "CN=Jürgen"),
        ((0x14, "Jürgen".encode("latin-1")), "CN=J\ufffdrgen"),  # of T61, taken for UTF-8
        ((0x1E, "ab".encode("utf-16-be")), r"CN=\00a\00b"),
        ((0x1A, b"visible"), "CN=#1a0776697369626c65"),
    ],
)
def test_a_name_that_java_writes_oddly(value: tuple[int, bytes], name: str) -> None:
    """Rules of access stand for what Java has written."""
    made = certificate_of(subject([relative_name([("2.5.4.3", *value)])]))
    assert name_of(made) == name


def test_a_part_of_several_attributes() -> None:
    """They stay in the order of the certificate; a number without a keyword has bytes."""
    pairs = [("2.5.4.10", UTF8, b"O"), ("2.999.7", UTF8, b"x"), ("2.5.4.3", UTF8, b"")]
    assert name_of(certificate_of(subject([relative_name(pairs)]))) == "O=O+2.999.7=#0c0178+CN="


@pytest.mark.parametrize(
    ("rule", "name", "made"),
    [
        ("RULE:.*/x/", "ab", "xx"),
        ("RULE:(a)(b)/$2$12\\$1/", "ab", "ba2$1"),
        ("RULE:CN=(.*?),O=(.*?)/$2-$1/", "CN=a,O=b", "-ab"),
    ],
)
def test_each_place_is_replaced_where_a_pattern_is_found(rule: str, name: str, made: str) -> None:
    """As by Java's `replaceAll`, once the whole name has fitted."""
    assert parse_rules(rule)[0].apply(name) == made


def test_a_certificate_that_ends_too_early() -> None:
    """Whatever it is, it is not read beyond its end."""
    data = der("client.pem")
    for end in range(200):
        with pytest.raises(MalformedCertificate):
            name_of(data[:end])


@pytest.mark.parametrize(
    ("rules", "name"),
    [
        ("DEFAULT", r"CN=alice,OU=Tests,O=Odradek\, Ltd"),
        ("RULE:^CN=(.*?),OU=Tests.*$/$1/", "alice"),
        ("RULE:^CN=(.*?),OU=Tests.*$/$1@tests/U, DEFAULT", "ALICE@TESTS"),
        ("RULE:^CN=bob.*$/bob/,RULE:^CN=(.*?),.*$/$1/L,DEFAULT", "alice"),
    ],
)
def test_rules_make_a_short_name_of_a_long_one(rules: str, name: str) -> None:
    """The first that fits counts."""
    assert principal_name(der("client.pem"), parse_rules(rules)) == name


def test_rules_that_fit_nobody_and_rules_that_are_none() -> None:
    """Nobody is let in under a name that no rule has made."""
    with pytest.raises(AuthenticationFailed, match="No rule"):
        principal_name(der("client.pem"), parse_rules("RULE:^CN=bob$/bob/"))
    with pytest.raises(AuthenticationFailed, match="No rule"):
        principal_name(der("client.pem"), parse_rules(""))
    for text in ("RULE:a", "RULE:(/x/", "RULE:a/$1/", "RULE:a/$/", "RULE:(a)/${b}/", "NOTHING"):
        with pytest.raises(InvalidSetting):
            parse_rules(text)


def test_credentials_are_altered_within_bounds() -> None:
    """4,096 to 16,384 rounds; each credential once; what is not there cannot go (KIP-554)."""
    good = Upsertion(1, 4_096, b"salt", bytes(32))
    after = changed("alice", [good], {"x": "y"})
    assert described(after) == [(1, 4_096)]
    assert changed("alice", [Deletion(1)], after) == {"x": "y"}
    assert "salt" not in repr(good).replace("salt=", "")
    refused: list[tuple[list[Deletion | Upsertion], str]] = [
        ([good._replace(rounds=4_095)], "Too few iterations"),
        ([good._replace(rounds=16_385)], "Too many iterations"),
        ([good._replace(number=3)], "Unknown SCRAM mechanism"),
        ([good._replace(salted_password=b"x")], "32 bytes"),
        ([good, Deletion(1)], "altered twice"),
        ([Deletion(2)], "does not exist"),
    ]
    for changes, says in refused:
        with pytest.raises(Exception, match=says):
            changed("alice", changes, {})
    with pytest.raises(Exception, match="must not be empty"):
        changed("", [good], {})

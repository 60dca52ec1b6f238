"""Coverage-guided attack on what reads bytes of strangers before their name is known.

    python tests/fuzz/fuzz_security.py -max_total_time=20 [a folder of inputs]

Tokens of SCRAM, PLAIN, DIGEST-MD5 and OAUTHBEARER on either side, certificates, stores, an issuer's
keys, and what settings and JAAS files hold.
Whatever it is fed, a reader returns or refuses it by an error of its own; nobody is let in.
"""

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import isclass, isfunction
from pathlib import Path
from ssl import PEM_cert_to_DER_cert
from tempfile import TemporaryDirectory

from odradek.model.errors import BrokerError
from odradek.model.units import Timestamp
from odradek.security import jaas, jaas_file, tokens
from odradek.security.certificates import certificate_names, der, java_store, pkcs12
from odradek.security.certificates.der import MalformedCertificate
from odradek.security.mechanisms import digest_md5, oauth, plain, scram, scram_client, scram_server
from odradek.security.mechanisms.mechanism import Proven
from odradek.security.mechanisms.scram import SHA_256, ScramCredential

MODULES = (
    certificate_names,
    der,
    digest_md5,
    jaas,
    jaas_file,
    java_store,
    oauth,
    pkcs12,
    plain,
    scram,
    scram_client,
    scram_server,
    tokens,
)
CERTIFICATES = Path(__file__).parents[1] / "samples" / "certificates"
KEYS = (
    b'{"keys":[{"kty":"EC","crv":"P-256","x":"MKBCTNIcKUSDii11ySs3526iDZ8AiTo7Tu6KPAqv7D4",'
    b'"y":"4Etl6SRW2YiLUrN5vfvVHuhp7x8PxltmWWlbbM4IFyM","kid":"1"}]}'
)
"""Of RFC 7517, whose private key no fuzzer finds."""
HEADER = b"eyJhbGciOiJFUzI1NiIsImtpZCI6IjEifQ"
RULES = tokens.Rules(("ES256",), None, ())
CREDENTIAL = SHA_256.credential(b"x" * 32, b"salt", 4_096)


def attack_scram_server(data: bytes) -> None:
    """Two tokens, the first with its length before it."""
    server = scram_server.ScramServer(SHA_256, {"a": CREDENTIAL}.get, secret=b"s", nonce=b"n")
    end = 1 + data[0]
    server.evaluate(data[1:end])
    assert not isinstance(server.evaluate(data[end:]), Proven), "nobody knows the password"


def attack_scram_client(data: bytes) -> None:
    """A server's first message; rounds are few, or the fuzzer would only count them."""
    client = scram_client.ScramClient(SHA_256, "a", "b", nonce=b"n")
    own = client.first().partition(b"r=")[2]
    with suppress(ValueError):
        if int(data.rpartition(b"i=")[2] or b"0") > 100:
            return
    client.respond(b"r=" + own + data)
    client.respond(data)


def attack_plain(data: bytes) -> None:
    """The users are known, and their passwords are not."""
    plain.PlainServer({"alice": "a password that no fuzzer finds"}).evaluate(data)


def attack_digest(data: bytes) -> None:
    """An answer to a challenge, and a challenge."""
    client = digest_md5.DigestClient("a", "b", nonce=b"n")
    with suppress(BrokerError):
        client.respond(data)
    server = digest_md5.DigestServer({"a": "a password that no fuzzer finds"}, nonce=b"n")
    server.evaluate(b"")
    assert not isinstance(server.evaluate(data), Proven), "nobody knows the password"


def attack_certificate(data: bytes) -> None:
    """A name that can be printed, or none."""
    with suppress(MalformedCertificate):
        certificate_names.name_of(data)


def attack_store(data: bytes) -> None:
    """Certificates, or none."""
    with suppress(BrokerError):
        pkcs12.trusted(data, "trust-secret")
    java_store.certificates(data, None)


def attack_oauth(data: bytes) -> None:
    """A client's message, the rest of a token, and an issuer's keys."""
    keys = tokens.parse_keys(KEYS)
    check = partial(tokens.believed, keys=keys, rules=RULES, now=Timestamp(1 << 40))
    with suppress(BrokerError):
        answer = oauth.OAuthServer(check).evaluate(data)
        assert not isinstance(answer, Proven), "nobody knows the key"
    with suppress(BrokerError):
        check((HEADER + data).decode("latin-1"))
        raise AssertionError("nobody knows the key")
    tokens.parse_keys(data)


def attack_settings(data: bytes) -> None:
    """Lines of JAAS, credentials; what was read is written and read as the same."""
    text = data.decode("utf-8", "replace")
    found = ScramCredential.parse(text)
    assert found is None or ScramCredential.parse(found.text()) == found
    with suppress(BrokerError):
        jaas_file.name_and_password(data, "Client", "file")
    jaas.parse_jaas(text, jaas.PLAIN, "setting")


ATTACKS: tuple[Callable[[bytes], None], ...] = (
    attack_scram_server,
    attack_scram_client,
    attack_plain,
    attack_certificate,
    attack_store,
    attack_settings,
    attack_digest,
    attack_oauth,
)


def attack(data: bytes) -> None:
    """The first byte says what the others pretend to be."""
    if len(data) < 2:
        return
    with suppress(BrokerError):
        ATTACKS[data[0] % len(ATTACKS)](data[1:])


def seeds() -> list[bytes]:
    """Inputs that are what they pretend to be, for the fuzzer to spoil."""
    first = b"n,,n=a,r=abc"
    last = b"c=biws,r=abcbg==,p=AAAA"
    text = (CERTIFICATES / "client.pem").read_text()
    certificate = PEM_cert_to_DER_cert(text[: text.index("-----END CERT") + 25])
    return [
        b"\0" + bytes([len(first)]) + first + last,
        b"\1more,s=c2FsdA==,i=4",
        b"\2\0alice\0guess",
        b"\3" + certificate,
        b"\4" + (CERTIFICATES / "trusted.jks").read_bytes(),
        b"\5" + CREDENTIAL.text().encode(),
        b'\5org.apache.kafka.common.security.plain.PlainLoginModule required a="b\\"" c=d;',
        b"\5Client { %b required username=a; };" % jaas_file.DIGEST_MODULE.encode(),
        b'\6realm="zk-sasl-md5",nonce="6e",qop="auth",charset=utf-8,algorithm=md5-sess',
        b"\4" + (CERTIFICATES / "trusted.p12").read_bytes(),
        b"\7n,,\1auth=Bearer " + HEADER + b".e30.AAAA\1\1",
        b"\7.e30.AAAA",
        b"\7" + KEYS,
        b'\6username="a",realm="zk-sasl-md5",nonce="6e",nc=00000001,cnonce="6e",qop=auth',
    ]


def main() -> None:
    """Runs until libFuzzer's options end it; it begins with our seeds, and the folders named."""
    import atheris

    for module in MODULES:
        for thing in vars(module).values():
            if isfunction(thing) and thing.__module__ == module.__name__:
                atheris.instrument_func(thing)
            elif isclass(thing) and thing.__module__ == module.__name__:
                for method in vars(thing).values():
                    if isfunction(method):
                        atheris.instrument_func(method)
    with TemporaryDirectory() as corpus:
        for number, seed in enumerate(seeds()):
            (Path(corpus) / str(number)).write_bytes(seed)
        atheris.Setup([sys.argv[0], corpus, *sys.argv[1:]], attack)
        atheris.Fuzz()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    main()

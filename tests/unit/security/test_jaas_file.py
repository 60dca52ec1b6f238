"""JAAS files: the section that is asked for, among others, comments and quotation marks."""

import pytest

from odradek.model.errors import InvalidSetting
from odradek.security.jaas import CLASSES, PLAIN, SCRAM_SHA_256, parse_jaas
from odradek.security.jaas_file import (
    DIGEST_MODULE,
    entry_of,
    name_and_password,
    users_and_passwords,
)

PLAIN_MODULE, SCRAM_MODULE = CLASSES[PLAIN], CLASSES[SCRAM_SHA_256]

FILE = rf"""
// of Kafka's brokers, which nobody asked for
KafkaServer {{
    com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true;
    another.Module optional;
}};
/* Client {{ in a comment }} */
Client {{
    {DIGEST_MODULE} required
    username="kafka" // a name
    password="a \"quoted\" // word; }} and more";
}};
Server {{ {DIGEST_MODULE} required user_kafka="secret" user_super=plain other=x; }};
"""


def test_a_name_and_a_password() -> None:
    """Marks within quotation marks are letters; printing a password shows nothing."""
    found = name_and_password(FILE.encode(), "Client", "file")
    assert found is not None
    name, password = found
    assert (name, password.value) == ("kafka", 'a "quoted" // word; } and more')
    assert "quoted" not in repr(found)


def test_the_users_of_a_server() -> None:
    """Each with a password; other options of the module name nobody."""
    found = users_and_passwords(FILE.encode(), "Server", "file")
    assert found == {"kafka": "secret", "super": "plain"}


KAFKA = rf"""
clients.KafkaServer {{
    {SCRAM_MODULE} required username="broker" password="of \"clients\" \\";
    {PLAIN_MODULE} required user_alice="alice; secret";
}};
KafkaServer {{ {PLAIN_MODULE} required user_bob=x; a.B required c=d; }};
"""
OF_CLIENTS = ("clients.KafkaServer", "KafkaServer")


def test_login_modules_of_kafka() -> None:
    """One for each mechanism; the section of a listener comes first, alone."""
    plain = entry_of(KAFKA.encode(), OF_CLIENTS, PLAIN_MODULE, "file")
    assert plain is not None
    assert plain.users == {"alice": "alice; secret"}
    scram = entry_of(KAFKA.encode(), OF_CLIENTS, SCRAM_MODULE, "file")
    assert scram is not None
    assert scram.credentials == ("broker", 'of "clients" \\')
    other = entry_of(KAFKA.encode(), ["b.KafkaServer", "KafkaServer"], PLAIN_MODULE, "file")
    assert other is not None
    assert other.users == {"bob": "x"}
    assert entry_of(KAFKA.encode(), ["KafkaServer"], SCRAM_MODULE, "file") is None
    assert entry_of(KAFKA.encode(), ["KafkaClient"], SCRAM_MODULE, "file") is None


def test_a_login_module_is_written_as_a_setting() -> None:
    """What is read of it is what was in the file."""
    module = entry_of(KAFKA.encode(), OF_CLIENTS, SCRAM_MODULE, "file")
    assert module is not None
    again = parse_jaas(module.text, SCRAM_SHA_256, "setting")
    assert (again.name, again.options) == (module.name, module.options)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"KafkaServer {{ {PLAIN_MODULE} required a=b; {PLAIN_MODULE} required; }};", "twice"),
        (f"KafkaServer {{ {PLAIN_MODULE} a=b; }};", "must stand required"),
        (f"KafkaServer {{ {PLAIN_MODULE} required a=b }};", "and a semicolon"),
        ("KafkaServer {", "has no end"),
    ],
)
def test_a_module_of_kafka_that_cannot_be_read(text: str, says: str) -> None:
    """The file and the section are named."""
    with pytest.raises(InvalidSetting, match=f"file: section KafkaServer.*{says}"):
        entry_of(text.encode(), ["KafkaServer"], PLAIN_MODULE, "file")


def test_a_section_that_is_not_there() -> None:
    """That is no mistake: other programs have theirs in the same file."""
    assert name_and_password(FILE.encode(), "Elsewhere", "file") is None
    assert users_and_passwords(b"", "Server", "file") is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("Client {", "has no end"),
        ("Client { };", "must hold one login module"),
        (f"Client {{ {DIGEST_MODULE} required; a.B required; }};", "must hold one login module"),
        ("Client { a.B required; };", "classes of Java are not run here"),
        (f"Client {{ {DIGEST_MODULE}; }};", "must stand required"),
        (f"Client {{ {DIGEST_MODULE} required username; }};", "must be name=value"),
        (f"Client {{ {DIGEST_MODULE} required username=a; }};", "a username and a password"),
        (f'Client {{ {DIGEST_MODULE} required username="a; }};', "is not closed"),
    ],
)
def test_what_cannot_be_read_is_said(text: str, says: str) -> None:
    """With the file and the section, and without what stands there: it may be a password."""
    with pytest.raises(InvalidSetting, match=says) as refused:
        name_and_password(text.encode(), "Client", "file")
    assert str(refused.value).startswith("file: ")

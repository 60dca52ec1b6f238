"""Settings that are right by themselves and wrong together."""

import pytest

from odradek.config import sources
from odradek.config.checks import LIMITS, RULES
from odradek.config.findings import Finding, Severity
from odradek.config.listener_checks import LISTENER_RULES


def findings(*settings: str) -> tuple[Finding, ...]:
    """What is said about a broker that is right but for these."""
    return sources.examine(sources.from_overrides(["log.dirs=/a", *settings]))[1]


TWO = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,A:PLAINTEXT"

SSL_2 = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,SSL2:SSL"
KEYS = "sasl.oauthbearer.jwks.endpoint.url=file:/keys.json"
A_NAMED = "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,A:SASL_PLAINTEXT"
SCRAM = "sasl.enabled.mechanisms=SCRAM-SHA-256"

REFUSED = [
    (("replica.fetch.wait.max.ms=30001",), "replica.socket.timeout.ms=30000 (default)"),
    (("replica.lag.time.max.ms=400",), "followers would leave the in-sync set"),
    (("queued.max.request.bytes=1000",), "socket.request.max.bytes=104857600 (default)"),
    (("connections.max.idle.ms=100",), "cut off before it is told why"),
    (("group.min.session.timeout.ms=2000000",), "group.max.session.timeout.ms=1800000"),
    (("log.cleaner.min.compaction.lag.ms=2", "log.cleaner.max.compaction.lag.ms=1"), "compacted"),
    (("broker.id=1", "node.id=2"), "two names for one number"),
    (("broker.id.generation.enable=false",), "may not draw one"),
    (("broker.id=1001",), "reserved.broker.max.id"),
    (("log.dirs=",), "name directories"),
    (("log.dirs=/a,,/b",), "name directories"),
    (("log.dirs=/a,/b,/a/",), "/a stands there twice"),
    (("log.dirs=/a/b,/c,/a",), "/a/b is inside /a"),
    (("log.cleaner.dedupe.buffer.size=1048576",), "more than a megabyte"),
    (("log.cleaner.dedupe.buffer.size=0", "log.cleaner.threads=0"), "more than a megabyte"),
    (("zookeeper.embedded=false",), "the one or the other"),
    (("max.connections.per.ip=0",), "no client could connect"),
    (("listeners=A://:1,a://:2",), "two listeners are named A"),
    (("listeners=PLAINTEXT://:1,SSL://:1",), "share port 1"),
    (("listeners=PLAINTEXT://1.2.3.4:1,SSL://1.2.3.5:1",), "share port 1"),
    (("listeners=PLAINTEXT://1.2.3.4:1,SSL://[::1]:1,SSL2://:1", SSL_2), "share port 1"),
    (("listeners=PLAINTEXT://:1,EXT://:2",), "does not say how EXT is secured"),
    (("advertised.listeners=SSL://a:1",), "there is no listener SSL"),
    (("advertised.listeners=PLAINTEXT://a:1,PLAINTEXT://b:2",), "two listeners are named"),
    (("listeners=PLAINTEXT://0.0.0.0:1",), "no client can connect to 0.0.0.0"),
    (("listeners=PLAINTEXT://:1,A://:2", A_NAMED), "listener A is to offer GSSAPI: Kerberos"),
    (("listeners=PLAINTEXT://:1,A://:2", A_NAMED), "Set sasl.enabled.mechanisms=SCRAM-SHA-512"),
    (
        ("listeners=A://:2", A_NAMED, "inter.broker.listener.name=A", SCRAM),
        "does not offer it (sasl.enabled.mechanisms); set it to SCRAM-SHA-256",
    ),
    (
        ("authorizer.class.name=kafka.security.auth.SimpleAclAuthorizer",),
        "Kafka has dropped it; kafka.security.authorizer.AclAuthorizer reads the same rules",
    ),
    (
        ("listeners=PLAINTEXT://:1,A://:2", A_NAMED, "sasl.enabled.mechanisms=OAUTHBEARER"),
        "listener A: tokens could not be told from forged ones: set sasl.oauthbearer.jwks.endpo",
    ),
    (
        ("listeners=PLAINTEXT://:1,A://:2", A_NAMED, "sasl.enabled.mechanisms=OAUTHBEARER", KEYS),
        "set sasl.oauthbearer.expected.issuer, or issuer in sasl.oauthbearer.unchecked",
    ),
    (
        (
            "listeners=PLAINTEXT://:1,A://:2",
            A_NAMED,
            "sasl.enabled.mechanisms=OAUTHBEARER",
            KEYS,
            "sasl.oauthbearer.unchecked=issuer",
        ),
        "set sasl.oauthbearer.expected.audience, or audience in sasl.oauthbearer.unchecked",
    ),
    (
        (
            "listeners=A://:2",
            A_NAMED,
            "inter.broker.listener.name=A",
            "sasl.enabled.mechanisms=OAUTHBEARER",
            "sasl.mechanism.inter.broker.protocol=OAUTHBEARER",
            KEYS,
            "sasl.oauthbearer.unchecked=issuer,audience",
        ),
        "brokers could not log in: set sasl.oauthbearer.token.endpoint.url",
    ),
    (
        ("listeners=PLAINTEXT://:1,A://:2", A_NAMED, "sasl.enabled.mechanisms=NONSENSE"),
        "listener A: there is no mechanism NONSENSE",
    ),
    (
        ("listeners=PLAINTEXT://:1,A://:2", A_NAMED, "sasl.enabled.mechanisms=PLAIN"),
        "no client could log in: set listener.name.a.plain.sasl.jaas.config",
    ),
    (
        ("listeners=A://:2", A_NAMED, "inter.broker.listener.name=A", SCRAM),
        "listener A does not offer it (sasl.enabled.mechanisms)",
    ),
    (
        (
            "listeners=A://:2",
            A_NAMED,
            "inter.broker.listener.name=A",
            SCRAM,
            "sasl.mechanism.inter.broker.protocol=SCRAM-SHA-256",
        ),
        "brokers could not log in: set listener.name.a.scram-sha-256.sasl.jaas.config",
    ),
    (
        ("listeners=A://:1", "listener.security.protocol.map=A:PLAINTEXT"),
        "brokers must find each other, but PLAINTEXT is not advertised: there is A",
    ),
    (("inter.broker.listener.name=SSL",), "SSL is not advertised"),
    (
        ("inter.broker.listener.name=PLAINTEXT", "security.inter.broker.protocol=PLAINTEXT"),
        "only one of them",
    ),
    (("admin.listener=0.0.0.0:9644",), "who reaches it there can read metrics"),
    (("admin.listener=:9644", "admin.listener.token=t"), "who reaches it there can read metrics"),
    (
        ("admin.listener=10.0.0.7:9644", "admin.listener.ssl.keystore.location=/k.pem"),
        "who reaches it there can read metrics",
    ),
    (("zookeeper.embedded.host=",), "can change everything in ZooKeeper"),
    (("zookeeper.embedded.host=10.0.0.7",), "can change everything in ZooKeeper"),
    (("zookeeper.set.acl=true",), "have no owner where the broker has no name"),
    (
        (
            "zookeeper.set.acl=true",
            "java.security.auth.login.config=/etc/jaas.conf",
            "zookeeper.sasl.client=false",
        ),
        "have no owner where the broker has no name",
    ),
    (
        ("zookeeper.set.acl=true", "zookeeper.ssl.client.enable=true"),
        "have no owner where the broker has no name",
    ),
    (("zookeeper.ssl.crl.enable=true",), "withdrawn are not looked up"),
]
DOUBTED = [
    (("sasl.jaas.config=x",), "only with a listener and a mechanism in its name"),
    (("zookeeper.ssl.keystore.location=/k.pem",), "are not encrypted unless it is true"),
    (("message.max.bytes=104857600",), "does not fit in a request"),
    (("log.segment.bytes=1000",), "does not fit in a segment"),
    (("min.insync.replicas=2",), "acks=all fails"),
]
RIGHT = [
    (),
    ("queued.max.request.bytes=-1",),
    ("queued.max.request.bytes=0",),
    ("connections.max.idle.ms=-1", "connection.failed.authentication.delay.ms=100000"),
    ("broker.id=7",),
    ("node.id=7",),
    ("broker.id=7", "node.id=7"),
    ("broker.id=5000", "broker.id.generation.enable=false"),
    ("zookeeper.embedded=false", "zookeeper.connect=a:2181,b:2181/kafka"),
    ("max.connections.per.ip=0", "max.connections.per.ip.overrides=127.0.0.1:10"),
    ("listeners=PLAINTEXT://:0,A://:0", TWO),
    ("listeners=PLAINTEXT://1.2.3.4:1,A://[::1]:1", TWO),
    ("listeners=PLAINTEXT://0.0.0.0:1", "advertised.listeners=PLAINTEXT://a:1"),
    ("listeners=PLAINTEXT://0.0.0.0:1", "advertised.listeners=auto"),
    ("zookeeper.embedded.host=", "zookeeper.embedded.open=true"),
    ("admin.listener=0.0.0.0:9644", "admin.listener.open=true"),
    (
        "admin.listener=:9644",
        "admin.listener.token=t",
        "admin.listener.ssl.keystore.location=/k.pem",
    ),
    ("admin.listener=[::1]:9644",),
    ("admin.listener=",),
    ("zookeeper.embedded.host=::1",),
    ("zookeeper.embedded.host=", "java.security.auth.login.config=/etc/jaas.conf"),
    (
        "zookeeper.embedded.host=",
        "zookeeper.embedded.ssl.keystore.location=/k.pem",
        "zookeeper.embedded.ssl.client.auth=required",
    ),
    ("zookeeper.set.acl=true", "java.security.auth.login.config=/etc/jaas.conf"),
    (
        "zookeeper.set.acl=true",
        "zookeeper.ssl.client.enable=true",
        "zookeeper.ssl.keystore.location=/k.pem",
    ),
    (
        "listeners=INTERNAL://:1,EXT://:2",
        "listener.security.protocol.map=internal:PLAINTEXT,ext:plaintext",
        "inter.broker.listener.name=internal",
    ),
]


@pytest.mark.parametrize(("settings", "says"), REFUSED)
def test_what_cannot_work_is_refused(settings: tuple[str, ...], says: str) -> None:
    """Each refusal names the settings with their values, where they were set, and the reason."""
    errors = [found for found in findings(*settings) if found.severity is Severity.ERROR]
    assert any(says in str(found) for found in errors), [str(found) for found in errors]
    assert all("(--override)" in str(found) or "(not set)" in str(found) for found in errors)


@pytest.mark.parametrize(("settings", "says"), DOUBTED)
def test_what_is_hardly_meant_is_a_warning(settings: tuple[str, ...], says: str) -> None:
    """Kafka starts with these, and so do we, but not without a word."""
    (found,) = findings(*settings)
    assert found.severity is Severity.WARNING
    assert says in str(found)


@pytest.mark.parametrize("settings", RIGHT)
def test_what_fits_together_is_taken_in_silence(settings: tuple[str, ...]) -> None:
    """The edges of each rule: what is just allowed is allowed."""
    assert [str(found) for found in findings(*settings)] == []


def test_a_wrong_value_is_told_once() -> None:
    """Nothing is concluded from a setting that is wrong by itself: its default was not chosen."""
    (found,) = findings("replica.fetch.wait.max.ms=soon", "replica.socket.timeout.ms=1")
    assert str(found).startswith("replica.fetch.wait.max.ms=soon (--override): must be")


def test_kerberos_is_refused_once_between_brokers() -> None:
    """No login module would help a mechanism that is not spoken."""
    told = findings("listeners=A://:2", A_NAMED, "inter.broker.listener.name=A")
    (found,) = told
    assert str(found).endswith(
        "Kerberos is not spoken here; use SCRAM-SHA-512 over TLS, or certificates. Set "
        "sasl.enabled.mechanisms=SCRAM-SHA-512, or the protocol of the listener to SSL"
    )


def test_every_check_has_its_case() -> None:
    """A rule that no test breaks may be one that cannot be broken."""
    broken = {found.names for settings, _ in (*REFUSED, *DOUBTED) for found in findings(*settings)}
    for check in (*LIMITS, *RULES, *LISTENER_RULES):
        assert tuple(setting.name for setting in check.settings) in broken


def test_contradictions_are_all_told() -> None:
    """Two settings that each contradict a third are two findings, not the first of them."""
    told = findings("replica.socket.timeout.ms=1", "replica.lag.time.max.ms=1")
    assert len(told) == 2

"""The table is Kafka 3.9's: names, types, defaults, bounds, what may change, what is inherited.

The facts stand in `kafka_3_9_settings.tsv`, read out of Kafka's own definitions. Where we differ
it is said here, and why.
"""

import csv
import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from odradek.config.broker import Layers, read
from odradek.config.dynamic import check
from odradek.config.kinds import ConfigType, Kind, NotAllowed
from odradek.config.setting import BrokerSetting, Setting, TopicSetting
from odradek.config.table import BROKER_SETTINGS, SUBJECTS, TOPIC_SETTINGS, rows_of
from odradek.model.errors import InvalidSetting

DIFFERENT = {
    "log.dir": "a broker without a directory is refused: a temporary one would lose its logs",
    "socket.listen.backlog.size": "a crowd that comes back at once would wait for seconds",
    "socket.receive.buffer.bytes": "the kernel sizes buffers better than any fixed number",
    "socket.send.buffer.bytes": "102400 doubles the time that the kernel needs for a fetch",
    "zookeeper.max.in.flight.requests": "Kafka's 10 would cost most of the speed of our client",
}
OF_THE_AUTHORIZER = {"super.users", "allow.everyone.if.no.acl.found"}
"""Kafka's AclAuthorizer reads them; they have no definition among the broker's."""
STATIC = {
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "sasl.enabled.mechanisms",
    "sasl.mechanism.inter.broker.protocol",
    "sasl.jaas.config",
}
STRICTER = {
    # Kafka has no bound here, and fails or never works with such a value
    "broker.id": "-2",
    "node.id": "-2",
    "sasl.oauthbearer.clock.skew.seconds": "-1",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": "0",
    "connections.max.reauth.ms": "-1",
    "controlled.shutdown.max.retries": "-1",
    "controlled.shutdown.retry.backoff.ms": "-1",
    "controller.socket.timeout.ms": "0",
    "default.replication.factor": "0",
    "group.initial.rebalance.delay.ms": "-1",
    "group.max.session.timeout.ms": "-1",
    "group.min.session.timeout.ms": "-1",
    "leader.imbalance.per.broker.percentage": "-1",
    "log.flush.interval.ms": "-1",
    "log.flush.scheduler.interval.ms": "0",
    "log.retention.hours": "0",
    "log.retention.minutes": "0",
    "log.retention.ms": "0",
    "log.roll.jitter.ms": "-1",
    "log.roll.ms": "0",
    "num.replica.alter.log.dirs.threads": "0",
    "num.replica.fetchers": "0",
    "offset.metadata.max.bytes": "-1",
    "offsets.commit.required.acks": "2",
    "offsets.topic.compression.codec": "5",
    "replica.fetch.min.bytes": "-1",
    "replica.fetch.wait.max.ms": "-1",
    "replica.high.watermark.checkpoint.interval.ms": "0",
    "replica.lag.time.max.ms": "0",
    "replica.socket.receive.buffer.bytes": "0",
    "replica.socket.timeout.ms": "0",
    "request.timeout.ms": "0",
    "sasl.server.max.receive.size": "0",
    "socket.connection.setup.timeout.max.ms": "0",
    "socket.connection.setup.timeout.ms": "0",
    "socket.listen.backlog.size": "a crowd that comes back at once would wait for seconds",
    "socket.receive.buffer.bytes": "0",
    "socket.send.buffer.bytes": "0",
    "zookeeper.connection.timeout.ms": "0",
    "zookeeper.session.timeout.ms": "0",
}


class Fact(NamedTuple):
    """One line of Kafka's definitions."""

    name: str
    type: str
    default: str | None
    valid: str
    importance: str
    tail: str  # of a broker's setting when it changes, of a topic's from what it inherits


def _facts(scope: str) -> dict[str, Fact]:
    path = Path(__file__).with_name("kafka_3_9_settings.tsv")
    found = {}
    for line in csv.reader(path.read_text().splitlines()[1:], delimiter="\t"):
        first, name, kind, default, valid, importance, *tail = line
        if first == scope:
            said = None if default == "null" else default
            found[name] = Fact(name, kind, said, valid, importance, "".join(tail))
    return found


BROKER_FACTS, TOPIC_FACTS = _facts("broker"), _facts("topic")


def _kafkas(rows: dict[str, Any]) -> list[Any]:
    return [
        pytest.param(row, id=row.name)
        for row in rows.values()
        if not row.ours and row.name not in OF_THE_AUTHORIZER
    ]


def _accepts(kind: Kind[Any], text: str) -> bool:
    try:
        kind.parse(text)
    except NotAllowed:
        return False
    return True


def _agrees(row: Setting[Any], fact: Fact) -> None:
    assert row.kind.type is ConfigType[fact.type]
    if row.name not in DIFFERENT:
        assert row.default_text == fact.default
    assert row.importance.name == fact.importance
    assert not row.sensitive or fact.type == "PASSWORD"
    if bounds := re.fullmatch(r"\[(-?[\d.]+),\.\.\.(?:,(-?\d+))?\](?: or (-?\d+))?", fact.valid):
        low, high, also = bounds.groups()
        assert _accepts(row.kind, low)
        assert not _accepts(row.kind, str(int(low) - 1)) or str(int(low) - 1) == also
        if high:
            assert _accepts(row.kind, high)
            assert not _accepts(row.kind, str(int(high) + 1))
    elif fact.type in {"INT", "LONG", "SHORT"} and row.name not in STRICTER:
        assert _accepts(row.kind, "-1")
        assert _accepts(row.kind, "0")
    elif listed := re.fullmatch(r"\[([a-zA-Z_0-9]+(?:, [a-zA-Z_0-9]+)*)\]", fact.valid):
        assert all(_accepts(row.kind, word) for word in listed[1].split(", "))
        assert not _accepts(row.kind, "nonsense")


@pytest.mark.parametrize("row", _kafkas(dict(BROKER_SETTINGS)))
def test_a_brokers_row_is_kafkas(row: BrokerSetting[Any]) -> None:
    """A file that was written for Kafka 3.9 means the same here."""
    fact = BROKER_FACTS[row.name]
    _agrees(row, fact)
    assert row.mode.value == ("read-only" if row.name in STATIC else fact.tail)


def test_what_nobody_would_act_on_cannot_be_changed_at_run_time() -> None:
    """Kafka opens and closes listeners while it runs; we say that we do not."""
    for name in STATIC:
        assert BROKER_FACTS[name].tail == "per-broker"
        with pytest.raises(InvalidSetting, match=name):
            check(read(Layers())[0], broker={name: "PLAINTEXT://:1"})


@pytest.mark.parametrize("row", _kafkas(dict(TOPIC_SETTINGS)))
def test_a_topics_row_is_kafkas(row: TopicSetting[Any]) -> None:
    """A topic is silent about the same things as in Kafka, and the same broker's setting speaks."""
    fact = TOPIC_FACTS[row.name]
    _agrees(row, fact)
    assert ",".join(setting.name for setting in row.inherits) == fact.tail


def test_a_topic_can_be_cloned_with_all_its_settings() -> None:
    """Tools read every setting of a topic and make another with them: none may be unknown here."""
    assert set(TOPIC_FACTS) <= set(TOPIC_SETTINGS)
    defaults = read(Layers())[0].topic_defaults
    said = {it.name: it.default for it in TOPIC_FACTS.values() if it.default is not None}
    assert defaults.checked(said).overrides == said


def test_tiered_storage_is_refused_where_it_would_be_counted_on() -> None:
    """There is none: a topic that asked for it would keep everything on local disks unnoticed."""
    for row in (
        TOPIC_SETTINGS["remote.storage.enable"],
        BROKER_SETTINGS["remote.log.storage.system.enable"],
    ):
        assert not _accepts(row.kind, "true")
        assert _accepts(row.kind, "False")


@pytest.mark.parametrize(("name", "text"), STRICTER.items())
def test_where_we_are_stricter_it_is_on_purpose(name: str, text: str) -> None:
    """Kafka has no bound for these; a value that cannot work is refused here, not met at night."""
    assert not _accepts(BROKER_SETTINGS[name].kind, text)


def test_where_a_default_differs_the_documentation_says_so() -> None:
    """Kafka's default stands beside ours wherever they are not the same, and nowhere else."""
    rows = (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values())
    assert {row.name for row in rows if row.kafka_default} == set(DIFFERENT)


def test_what_is_ours_is_marked() -> None:
    """A setting that Kafka does not have says so, and one that Kafka has does not."""
    for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()):
        facts = BROKER_FACTS if isinstance(row, BrokerSetting) else TOPIC_FACTS
        known = row.name in facts or row.name in OF_THE_AUTHORIZER
        assert row.ours is not known, row.name


def test_every_default_is_a_value() -> None:
    """A default survives its own text: what documentation shows can be written into a file."""
    for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()):
        if row.default_text is not None:
            assert row.kind.parse(row.default_text) == row.default, row.name


@pytest.mark.parametrize("filler", [" ", ",", ":", "a", "0", "1:", "a,", "[", "-", ".", "/", "é"])
def test_no_value_takes_long_to_refuse(filler: str) -> None:
    """Values come from the network, too. What is not linear in its length would never end here."""
    text = "a" + filler * (500_000 // len(filler)) + "\n"
    for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()):
        _accepts(row.kind, text)


def test_a_constant_is_named_as_its_setting() -> None:
    """Whoever knows the setting knows the row: `log.segment.bytes` is LOG_SEGMENT_BYTES."""
    modules = [module for _, module in SUBJECTS]
    for module in modules:
        for constant, row in vars(module).items():
            if isinstance(row, Setting):
                assert constant == row.name.upper().replace(".", "_")
    assert sum(len(rows_of(module, BrokerSetting)) for module in modules) == len(BROKER_SETTINGS)


def test_every_row_has_sentences() -> None:
    """The documentation is made of them."""
    for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()):
        assert row.doc[0].isupper() or row.doc[0] == "`", row.name
        assert row.doc.endswith("."), row.name
        assert not row.inert.endswith("."), row.name


def test_only_kafkas_own_authorizer_is_known() -> None:
    """Another class would decide otherwise, and no Java is run: it is refused, not passed over."""
    kind = BROKER_SETTINGS["authorizer.class.name"].kind
    for name in ("", "kafka.security.authorizer.AclAuthorizer"):
        assert kind.parse(name) == name
    with pytest.raises(NotAllowed, match="Kafka has dropped it"):
        kind.parse("kafka.security.auth.SimpleAclAuthorizer")
    for name in ("org.apache.kafka.metadata.authorizer.StandardAuthorizer", "com.example.Open"):
        assert not _accepts(kind, name)


def test_super_users_are_separated_by_semicolons() -> None:
    """The names of certificates have commas; each has a type, or nobody would be meant."""
    kind = BROKER_SETTINGS["super.users"].kind
    assert kind.parse("User:CN=a,O=b; User:c") == ("User:CN=a,O=b", "User:c")
    assert kind.parse("User:a;") == ("User:a",)
    assert kind.parse("") == ()
    assert not _accepts(kind, "alice")
    assert not _accepts(kind, "User:a;;User:b")

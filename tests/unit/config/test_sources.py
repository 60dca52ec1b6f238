"""Where settings come from, what overrides what, and how the wrong ones are told."""

import pytest

from odradek.config import sources
from odradek.config.broker import BrokerConfig
from odradek.config.findings import Finding, Severity
from odradek.config.rows import broker, log, network, topic
from odradek.model.errors import InvalidSetting
from odradek.model.units import HOUR

FILE = "server.properties"
MINIMAL = "log.dirs=/a\n"
VARIABLE = "KAFKA_LOG_CLEANUP_POLICY"
SEGMENT_BYTES_ALLOWED = "must be a 32-bit integer of at least 14, in bytes"
POLICY_ALLOWED = "must be a list of compact, delete, separated by commas"


def load(
    file: str = MINIMAL, environment: dict[str, str] | None = None, *overrides: str
) -> tuple[BrokerConfig, list[str]]:
    """The settings of a broker, and the warnings."""
    given, found = sources.from_file(file.encode(), FILE)
    given |= sources.from_environment(environment or {})
    given |= sources.from_overrides(overrides)
    config, findings = sources.load(given, found)
    return config, [str(finding) for finding in findings]


def refusals(file: str, environment: dict[str, str] | None = None, *overrides: str) -> list[str]:
    """All that keeps a broker from starting."""
    with pytest.raises(InvalidSetting) as refusal:
        load(file, environment, *overrides)
    return str(refusal.value).splitlines()


def test_the_later_source_counts() -> None:
    """Default, then file, then environment, then command line."""
    assert load()[0][broker.NUM_PARTITIONS] == 1
    file = MINIMAL + "num.partitions=2"
    assert load(file)[0][broker.NUM_PARTITIONS] == 2
    environment = {"KAFKA_NUM_PARTITIONS": "3"}
    assert load(file, environment)[0][broker.NUM_PARTITIONS] == 3
    assert load(file, environment, "num.partitions=4")[0][broker.NUM_PARTITIONS] == 4
    assert (
        load(file, environment, "num.partitions=4", "num.partitions = 5 ")[0][broker.NUM_PARTITIONS]
        == 5
    )


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("KAFKA_LOG_DIRS", "log.dirs"),
        ("KAFKA_LISTENER_NAME_INTERNAL_MAX_CONNECTIONS", "listener.name.internal.max.connections"),
        ("KAFKA_A__B", "a_b"),
        ("KAFKA_A___B", "a-b"),
        ("KAFKA_A____B", "a-.b"),
    ],
)
def test_variables_are_named_as_in_kafkas_image(variable: str, name: str) -> None:
    """What people set for Kafka's container means the same here."""
    assert sources.setting_of_variable(variable) == name


def test_only_settings_are_taken_from_the_environment() -> None:
    """The JVM's options, and what belongs to other programs, are not settings."""
    environment = {"KAFKA_HEAP_OPTS": "-Xmx1g", "KAFKA_HOME": "/opt", "PATH": "x", "LOG_DIRS": "y"}
    assert load(MINIMAL, environment)[1] == []


def test_all_wrong_settings_are_told_at_once_and_where() -> None:
    """Nobody starts a broker seven times to find seven mistakes."""
    file = "# mine\nlog.dirs=/a\nlog.segment.bytes=12\nnum.partitions=\n"
    environment = {VARIABLE: "compact,burn"}
    told = refusals(file, environment, "delete.topic.enable=maybe")
    assert told == [
        "delete.topic.enable=maybe (--override): must be true or false",
        "num.partitions= (server.properties, line 4): must be a 32-bit integer of at least 1",
        f"log.segment.bytes=12 (server.properties, line 3): {SEGMENT_BYTES_ALLOWED}",
        f"log.cleanup.policy=compact,burn (environment variable {VARIABLE}): {POLICY_ALLOWED}",
    ]


def test_a_line_that_is_none_is_told_with_the_others() -> None:
    """A bad escape does not hide the wrong settings around it."""
    told = refusals("log.dirs=/a\nbroker.rack=\\u12\nnum.partitions=0\n")
    assert [line.partition(":")[0] for line in told] == [
        "server.properties, line 2",
        "num.partitions=0 (server.properties, line 3)",
    ]


def test_an_unknown_name_is_kept_and_warned_about() -> None:
    """Kafka starts with it, and so do we; its value is not shown, it may be a password."""
    config, warnings = load(MINIMAL + "no.such.password=swordfish\n")
    assert config.layers.static["no.such.password"].text == "swordfish"
    (warning,) = warnings
    assert "no.such.password=[hidden] (server.properties, line 2)" in warning


def test_a_name_that_stands_twice_is_warned_about() -> None:
    """The later line counts, as in Java, but somebody should know."""
    config, (warning,) = load(MINIMAL + "num.partitions=2\nnum.partitions=3\n")
    assert config[broker.NUM_PARTITIONS] == 3
    assert "line 3 counts" in warning
    assert "line 2 does not" in warning


def test_a_long_wrong_value_is_cut_short() -> None:
    """A message of ten megabytes helps nobody; unprintable characters are spelled out."""
    (told,) = refusals(MINIMAL, None, "num.partitions=\x1b" + "9" * 10_000_000)
    assert len(told) < 300
    assert "num.partitions=\\x1b99" in told
    assert "(10000001 characters)" in told


@pytest.mark.parametrize("override", ["", "=1", " =1", "num.partitions", "--num.partitions"])
def test_an_override_names_a_setting(override: str) -> None:
    """What has no equals sign, or nothing before it, is quoted."""
    with pytest.raises(InvalidSetting, match="must be name=value"):
        sources.from_overrides([override])


def test_values_are_trimmed() -> None:
    """Blanks at the end of a line are not seen by who wrote them."""
    config, _ = load("log.dirs= /a , /b  \nnum.partitions = 3 \t\n")
    assert config[log.LOG_DIRS] == ("/a", "/b")
    assert config[broker.NUM_PARTITIONS] == 3


@pytest.mark.parametrize(
    ("file", "age"),
    [
        ("", 168 * HOUR),
        ("log.retention.hours=1", HOUR),
        ("log.retention.hours=1\nlog.retention.minutes=2", 120_000),
        ("log.retention.ms=3\nlog.retention.hours=1\nlog.retention.minutes=2", 3),
        ("log.retention.hours=-1", None),
        ("log.retention.hours=1\nlog.retention.ms=-1", None),
    ],
)
def test_the_finest_unit_counts(file: str, age: int | None) -> None:
    """Milliseconds before minutes before hours, and -1 is for ever."""
    assert load(MINIMAL + file)[0].topic_defaults[topic.RETENTION_MS] == age


def test_topics_inherit_the_brokers_settings() -> None:
    """Where a topic is silent, the broker's setting of another name speaks."""
    file = "log.segment.bytes=1000000\nmessage.max.bytes=5000\nlog.flush.scheduler.interval.ms=7"
    defaults = load(MINIMAL + file)[0].topic_defaults
    assert defaults[topic.SEGMENT_BYTES] == 1_000_000
    assert defaults[topic.MAX_MESSAGE_BYTES] == 5_000
    assert defaults[topic.FLUSH_MS] == 7
    assert load(MINIMAL + file + "\nlog.flush.interval.ms=9")[0].topic_defaults[topic.FLUSH_MS] == 9


def test_one_listener_can_have_limits_of_its_own() -> None:
    """The long name is known, checked as the short one, and found by the listener's name."""
    listeners = "listeners=PLAINTEXT://:1,EXTERNAL://:2\n"
    listeners += "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXTERNAL:PLAINTEXT\n"
    config, warnings = load(f"{MINIMAL}{listeners}listener.name.external.max.connections=5\n")
    assert config.on_listeners(network.MAX_CONNECTIONS) == {"EXTERNAL": 5}
    assert config.on_listeners(network.MAX_CONNECTION_CREATION_RATE) == {}
    assert warnings == []
    (told,) = refusals(MINIMAL + "listener.name.external.max.connections=-5\n")
    assert told.startswith("listener.name.external.max.connections=-5 (server.properties, line 2)")


def test_errors_refuse_and_warnings_do_not() -> None:
    """`examine` tells both, for those who only want to know."""
    given, _ = sources.from_file(b"log.dirs=/a\nno.such=1\nnum.partitions=0", FILE)
    _, findings = sources.examine(given, [Finding(Severity.WARNING, (), "before")])
    assert [finding.severity for finding in findings] == [
        Severity.WARNING,
        Severity.ERROR,
        Severity.WARNING,
    ]

"""What DescribeConfigs is told: values, who set them, and their synonyms, as Kafka tells it."""

from odradek.config import describe, dynamic, sources
from odradek.config.broker import BrokerConfig
from odradek.config.describe import Described, Source, Synonym
from odradek.config.kinds import ConfigType
from odradek.config.table import BROKER_SETTINGS, TOPIC_SETTINGS


def started(*settings: str) -> BrokerConfig:
    """A broker that began with these."""
    return sources.load(sources.from_overrides(["log.dirs=/a", *settings]))[0]


def of_broker(config: BrokerConfig, name: str) -> Described:
    """One line of the answer about a broker."""
    return next(line for line in describe.broker_settings(config) if line.name == name)


def of_topic(config: BrokerConfig, name: str, **overrides: str) -> Described:
    """One line of the answer about a topic, `_` for a dot."""
    own = {key.replace("_", "."): text for key, text in overrides.items()}
    topic = config.topic_defaults.checked(own)
    return next(line for line in describe.topic_settings(config, topic) if line.name == name)


def test_a_default_is_its_own_synonym() -> None:
    """Nobody set it, so its only place is the table."""
    line = of_broker(started(), "log.segment.bytes")
    assert (line.text, line.source) == ("1073741824", Source.DEFAULT)
    assert line.synonyms == (Synonym("log.segment.bytes", "1073741824", Source.DEFAULT),)
    assert (line.type, line.read_only, line.sensitive) == (ConfigType.INT, False, False)
    assert line.doc


def test_what_nobody_set_and_has_no_default_is_null() -> None:
    """Kafka's tools print null for it."""
    line = of_broker(started(), "log.retention.ms")
    assert (line.text, line.source, line.synonyms) == (None, Source.DEFAULT, ())


def test_every_place_that_names_a_setting_is_told_the_one_that_counts_first() -> None:
    """Run time for this broker, run time for all, file, default."""
    config = started("message.max.bytes=1000")
    config = dynamic.update(
        config, cluster={"message.max.bytes": "2000"}, broker={"message.max.bytes": "3000"}
    ).config
    line = of_broker(config, "message.max.bytes")
    assert (line.text, line.source) == ("3000", Source.DYNAMIC_BROKER)
    assert [(mention.text, mention.source) for mention in line.synonyms] == [
        ("3000", Source.DYNAMIC_BROKER),
        ("2000", Source.DYNAMIC_DEFAULT_BROKER),
        ("1000", Source.STATIC_BROKER),
        ("1048588", Source.DEFAULT),
    ]


def test_coarser_units_are_synonyms_too() -> None:
    """But only behind a mention of the setting itself: before it they do not count."""
    config = started("log.retention.hours=1")
    assert of_broker(config, "log.retention.ms").synonyms == ()
    assert [one.name for one in of_broker(config, "log.retention.hours").synonyms] == [
        "log.retention.hours",
        "log.retention.hours",
    ]
    config = dynamic.update(config, cluster={"log.retention.ms": "5"}).config
    assert [one.name for one in of_broker(config, "log.retention.ms").synonyms] == [
        "log.retention.ms",
        "log.retention.hours",
        "log.retention.hours",
    ]


def test_the_brokers_number_is_told_under_both_its_names() -> None:
    """Kafka shows it so; `node.id` was -1 where `broker.id` was set."""
    for said, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
        line = of_broker(started(f"{said}=7"), other)
        assert (line.text, line.source, line.read_only) == ("7", Source.STATIC_BROKER, True)
        assert line.synonyms == (
            Synonym(other, "7", Source.STATIC_BROKER),
            Synonym(other, "-1", Source.DEFAULT),
        )
    assert of_broker(started(), "node.id").text == "-1"


def test_a_topic_is_told_the_brokers_names() -> None:
    """Its own setting first, then the broker's that it would inherit."""
    config = started("log.segment.bytes=1000")
    line = of_topic(config, "segment.bytes")
    assert (line.text, line.source) == ("1000", Source.STATIC_BROKER)
    line = of_topic(config, "segment.bytes", segment_bytes="2000")
    assert (line.text, line.source) == ("2000", Source.TOPIC)
    assert line.synonyms == (
        Synonym("segment.bytes", "2000", Source.TOPIC),
        Synonym("log.segment.bytes", "1000", Source.STATIC_BROKER),
        Synonym("log.segment.bytes", "1073741824", Source.DEFAULT),
    )


def test_values_look_as_in_kafka() -> None:
    """Lists without blanks, numbers without zeros in front; texts as they were written."""
    config = started(
        "log.cleanup.policy=compact , delete",
        "num.partitions=007",
        "listeners=plaintext://:9092 , EXT://:9093",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,EXT:PLAINTEXT",
        "log.retention.hours=-5",
    )
    texts = {line.name: line.text for line in describe.broker_settings(config)}
    assert texts["log.cleanup.policy"] == "compact,delete"
    assert texts["num.partitions"] == "7"
    assert texts["listeners"] == "plaintext://:9092 , EXT://:9093"
    assert texts["log.cleaner.io.max.bytes.per.second"] == "1.7976931348623157E308"
    assert texts["zookeeper.connect"] is None
    assert of_topic(config, "retention.ms").text == "-1"


def test_a_strangers_setting_is_named_but_not_shown() -> None:
    """It may be a password; one listener's own setting is no stranger."""
    config = started("no.such=swordfish", "listener.name.a.max.connections=5")
    line = of_broker(config, "no.such")
    assert (line.text, line.sensitive, line.type) == (None, True, ConfigType.UNKNOWN)
    assert line.synonyms == (Synonym("no.such", None, Source.STATIC_BROKER),)
    line = of_broker(config, "listener.name.a.max.connections")
    assert (line.text, line.sensitive, line.type) == ("5", False, ConfigType.INT)
    assert not line.read_only


def test_the_whole_cluster_is_told_only_what_was_set_for_it() -> None:
    """Not what one broker's file says."""
    config = started("message.max.bytes=1000")
    stored = {"message.max.bytes": "2000", "no.such": "x"}
    config = dynamic.update(config, cluster=stored, broker={"message.max.bytes": "3000"}).config
    known, stranger = describe.cluster_settings(config)
    assert (known.name, known.text) == ("message.max.bytes", "2000")
    assert known.synonyms == (Synonym("message.max.bytes", "2000", Source.DYNAMIC_DEFAULT_BROKER),)
    assert (stranger.name, stranger.text) == ("no.such", None)
    assert list(describe.cluster_settings(started())) == []


def test_everything_is_described() -> None:
    """In the order of the tables, so that two answers are the same."""
    config = started()
    names = [line.name for line in describe.broker_settings(config)]
    assert names == list(BROKER_SETTINGS)
    topics = describe.topic_settings(config, config.topic_defaults)
    assert [line.name for line in topics] == list(TOPIC_SETTINGS)

"""Options: each one is in the table, does what the table says, or is refused."""

from pathlib import Path

import pytest

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.kafka_settings import HONOURED, REFUSED, REFUSED_PREFIXES, WITHOUT_EFFECT
from odradek.pipelines.sink.options import OPTIONS as OF_SINK
from odradek.pipelines.sink.options import parse as parse_sink
from odradek.pipelines.source.options import OPTIONS as OF_SOURCE
from odradek.pipelines.source.options import Mode, parse
from odradek.pipelines.source.points import point_options

PAGE = Path(__file__).parents[2] / "docs" / "pipeline-options.md"
NEEDED = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def test_the_page_has_every_option() -> None:
    """With what the tables of the code say of it."""
    text = PAGE.read_text(encoding="utf-8")
    prefixes = {f"{name}*": it for name, it in REFUSED_PREFIXES.items()}
    for table in (OF_SOURCE, OF_SINK, HONOURED, REFUSED, prefixes):
        for name, meaning in table.items():
            assert f"| `{name}` | {meaning} |" in text, name
    assert all(f"`{name}`" in text for name in WITHOUT_EFFECT)
    assert text.count("\n| `") == sum(map(len, (OF_SOURCE, OF_SINK, HONOURED, REFUSED, prefixes)))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("kafka.isolation.levle", "did you mean 'isolation.level'?"),
        ("kafka.no.such.thing", "no setting 'no.such.thing'"),
        ("kafka.sasl.jaas.confg", "not honoured here; did you mean 'sasl.jaas.config'?"),
        ("kafka.ssl.engine.factory.class", "a setting of security that is not honoured here"),
        ("kafka.security.protocol", "security.protocol=x: must be one of PLAINTEXT, SSL"),
        ("kafka.transactional.id", "in no transaction"),
        ("startingOfsets", "did you mean 'startingOffsets'?"),
    ],
)
def test_what_is_mistyped_or_means_nothing_is_refused(name: str, said: str) -> None:
    """A setting that is silently left aside would be believed."""
    with pytest.raises(InvalidOption) as refused:
        parse({**NEEDED, name: "x"}, Mode.STREAM)
    assert said in str(refused.value)
    with pytest.raises(InvalidOption):
        parse_sink({"kafka.bootstrap.servers": "localhost:9092", "topic": "t", name: "x"})


def test_settings_of_a_client_of_javas_are_taken() -> None:
    """So that what was written for Spark's source works here."""
    parse({**NEEDED, **{f"kafka.{name}": "1" for name in WITHOUT_EFFECT}}, Mode.BATCH)


def test_a_point_is_written_the_same_everywhere() -> None:
    """In a file, and behind `--start`, `--from` and `--to`."""
    assert point_options("--start", "latest", "starting") == {"startingOffsets": "latest"}
    assert point_options("--start", "-10m", "starting") == {"startingTimestamp": "-10m"}
    assert point_options("--start", "2026-01-31T00:00:00Z", "starting") == {
        "startingTimestamp": "1769817600000"
    }
    with pytest.raises(InvalidOption, match="--start must be earliest, latest, -10m or a time"):
        point_options("--start", "yesterday", "starting")

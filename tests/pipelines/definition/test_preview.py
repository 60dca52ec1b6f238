"""What a preview shows of records."""

from pathlib import Path

from odradek.pipelines.definition.definition import parse
from odradek.pipelines.definition.preview import preview
from tests.pipelines.topics import Topics, now_ms


def no_session() -> object:
    """Without conditions nobody asks for one."""
    raise AssertionError


def test_a_time_that_no_calendar_has_is_a_number(topics: Topics, tmp_path: Path) -> None:
    """Of a client that takes microseconds for milliseconds; other records are shown as usual."""
    topic, now = topics.make(), now_ms()
    topics.fill(topic, [{"value": b"far", "timestamp": now * 1_000}, {"value": b"now"}])
    definition = parse(
        {
            "name": "far",
            "source": {"bootstrap-server": topics.bootstrap, "topics": [topic]},
            "table": {"location": "delta:lake"},
        },
        tmp_path,
    )
    far, usual = preview(definition, 10, no_session)  # type: ignore[arg-type]
    assert far.row is not None
    assert usual.row is not None
    assert (far.row["value"], far.row["timestamp"]) == (b"far", now * 1_000_000)
    assert usual.row["value"] == b"now"

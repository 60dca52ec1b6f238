"""Each error names the command that helps there."""

from pathlib import Path

import pytest

from odradek.pipelines.definition.remedies import InArchive, InFile, Place, told
from odradek.pipelines.errors import (
    SKIP_OPTION,
    Away,
    CorruptData,
    DataLoss,
    PipelineError,
    TopicMadeAgain,
    TopicTruncated,
    Unreachable,
    error_of,
)
from odradek.pipelines.moving.archiving.archive import archive
from odradek.pipelines.moving.archiving.dead_letters import BadRecord
from odradek.pipelines.moving.archiving.triggers import Once
from odradek.pipelines.tables.commits import OtherTopic
from odradek.pipelines.tables.table import CommitConflict, DamagedLog
from tests.pipelines.moving.archives import archive_of
from tests.pipelines.moving.local_spark import LocalSpark
from tests.pipelines.topics import Topics

FILE, ARCHIVE = InFile(Path("orders.toml")), InArchive()


@pytest.mark.parametrize(
    ("error", "place", "helps"),
    [
        (DataLoss(f"gone; set {SKIP_OPTION}"), FILE, 'set on-data-loss = "skip" in [source] of or'),
        (DataLoss(f"gone; set {SKIP_OPTION}"), ARCHIVE, "set --skip-lost"),
        (CorruptData(f"bad; {SKIP_OPTION} skips"), ARCHIVE, "--skip-lost skips"),
        (TopicMadeAgain("again"), FILE, "odradek pipeline follow orders.toml --new-topic"),
        (OtherTopic("again"), FILE, "odradek pipeline follow orders.toml --new-topic"),
        (TopicMadeAgain("again"), ARCHIVE, "archive the new one into another --to"),
        (TopicTruncated("less"), FILE, "odradek pipeline reset orders.toml"),
        (TopicTruncated("less"), ARCHIVE, "archive into another --to"),
        (CommitConflict("late"), FILE, "stop what writes the table"),
        (BadRecord("no row"), FILE, "[dead-letters] in orders.toml"),
        (DamagedLog("half"), FILE, "another table.location in orders.toml"),
        (Unreachable("away"), FILE, "odradek pipeline status orders.toml"),
    ],
)
def test_what_helps_where_it_was_met(error: PipelineError, place: Place, helps: str) -> None:
    """By the type of the error, also once Spark has handed it on as text."""
    assert helps in told(error, place)
    kind = type(error)
    text = RuntimeError(f"Traceback ...\n{kind.__module__}.{kind.__qualname__}: {error}\n")
    handed_on = error_of(text)
    assert type(handed_on) is kind
    assert helps in told(handed_on, place)


def test_what_needs_no_help() -> None:
    """The sentence as it is."""
    for error in PipelineError("so it is"), Away("away"):
        assert told(error, ARCHIVE) == str(error)


def test_nobody_is_told_to_skip_what_cannot_be_skipped(topics: Topics, tmp_path: Path) -> None:
    """Of a topic that was made again a run says that, and not that records are gone."""
    topic = topics.make()
    topics.fill_numbers(topic, 20)
    job = archive_of(topics.bootstrap, topic, f"delta:{tmp_path}/t")
    archive(LocalSpark(), job, Once())
    topics.delete(topic)
    topics.make()
    topics.fill_numbers(topic, 5)
    with pytest.raises(TopicMadeAgain, match="deleted and created again") as met:
        archive(LocalSpark(), job, Once())
    assert SKIP_OPTION not in str(met.value)

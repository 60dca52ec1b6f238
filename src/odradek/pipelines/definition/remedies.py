"""What helps, in the words of the caller: of a pipeline's file, or of `odradek archive`.

An error says by its type what is wrong. What helps depends on where it was met: the same gap is
passed over by a key of a file, by a flag of a command, or by an option of the source.
"""

from dataclasses import dataclass
from pathlib import Path

from odradek.pipelines.errors import (
    SKIP_OPTION,
    Away,
    PipelineError,
    TopicMadeAgain,
    TopicTruncated,
)
from odradek.pipelines.moving.archiving.checks import Violated
from odradek.pipelines.moving.archiving.dead_letters import BadRecord
from odradek.pipelines.tables.table import CommitConflict, DamagedLog


@dataclass(frozen=True, slots=True)
class InFile:
    """A verb of `odradek pipeline`, with this file."""

    file: Path

    @property
    def skip(self) -> str:
        """How records may be left out."""
        return f'on-data-loss = "skip" in [source] of {self.file}'


@dataclass(frozen=True, slots=True)
class InArchive:
    """`odradek archive`."""

    skip = "--skip-lost"


Place = InFile | InArchive


def told(error: PipelineError, place: Place) -> str:
    """The error as a sentence, with the command that helps there."""
    sentence = str(error).replace(SKIP_OPTION, place.skip)
    found = _of_file(error, place.file) if isinstance(place, InFile) else _of_archive(error)
    return f"{sentence}; {found}" if found else sentence


def _of_file(error: PipelineError, file: Path) -> str:
    match error:
        case TopicMadeAgain():
            return f"odradek pipeline follow {file} --new-topic goes on with the new one"
        case TopicTruncated():
            return f"odradek pipeline reset {file} begins again"
        case CommitConflict():
            return "stop what writes the table and try again"
        case BadRecord() | Violated():
            return f"[dead-letters] in {file} keeps such records apart, and the run goes on"
        case DamagedLog():
            return f"with another table.location in {file} the next run begins at its start"
        case Away():
            return f"once it answers, odradek pipeline status {file} says how far the table is"
    return ""


def _of_archive(error: PipelineError) -> str:
    match error:
        case TopicMadeAgain():
            return (
                "archive the new one into another --to; or write a pipeline's file of this table "
                'with values.format = "raw", and odradek pipeline follow FILE --new-topic'
            )
        case TopicTruncated() | DamagedLog():
            return "archive into another --to"
        case CommitConflict():
            return "stop what writes the table and try again"
    return ""

"""A data file of a table: its path, its size, and which offsets its rows lie between.

The name holds the id of the topic, the partition and a span of offsets. All rows of the file are
of that partition and lie within the span; the span may be wider than the rows. So a backfill finds
the files that it has to replace in every format, without opening them. A file that another program
wrote has no span: what it holds is known once it is read.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, unquote

NO_TOPIC_ID: Final = "0"
DIRECTORY: Final = "directory"
"""The property of a table that says where its data files lie, if not in `data`."""
DATA: Final = "data"

_NAME = re.compile(
    r"rows\.(?P<topic_id>[\w-]+)\.(?P<partition>\d+)\.(?P<start>\d+)\.(?P<end>\d+)\.[0-9a-f]+\.parquet"
)


@dataclass(frozen=True, slots=True)
class Span:
    """Offsets of one partition of one topic, from `start` on, up to and without `end`."""

    topic_id: str
    partition: int
    start: int
    end: int

    def overlaps(self, other: "Span") -> bool:
        """Whether an offset can be within both."""
        return (
            (self.topic_id, self.partition) == (other.topic_id, other.partition)
            and self.start < other.end
            and other.start < self.end
        )

    def holds(self, other: "Span") -> bool:
        """Whether each offset of the other is within this one."""
        return (
            (self.topic_id, self.partition) == (other.topic_id, other.partition)
            and self.start <= other.start
            and other.end <= self.end
        )


@dataclass(frozen=True, slots=True)
class DataFile:
    """One Parquet file of rows; its path is relative to the table."""

    path: str
    bytes: int
    rows: int
    values: tuple[tuple[str, str], ...] = ()  # that its directories say
    stats: str = ""  # as JSON, in Delta's format
    modified_ms: int = 0

    @property
    def span(self) -> Span | None:
        """What the name says; None: another program wrote it."""
        match = _NAME.fullmatch(self.path.rpartition("/")[2])
        if match is None:
            return None
        topic_id = "" if match["topic_id"] == NO_TOPIC_ID else match["topic_id"]
        return Span(topic_id, int(match["partition"]), int(match["start"]), int(match["end"]))


def path_of(
    span: Span, values: tuple[tuple[str, str], ...], nonce: str, directory: str = DATA
) -> str:
    """The path of a new file."""
    topic_id = span.topic_id or NO_TOPIC_ID
    name = f"rows.{topic_id}.{span.partition}.{span.start}.{span.end}.{nonce}.parquet"
    directories = [f"{column}={quote(value, safe='')}" for column, value in values]
    return "/".join([*filter(None, [directory]), *directories, name])


def directory_of(properties: Mapping[str, str]) -> str:
    """Where the data files of a table lie, by its properties."""
    return properties.get(DIRECTORY, DATA)


def is_data_file(name: str) -> bool:
    """Whether a file of this name is one of ours."""
    return _NAME.fullmatch(name) is not None


def values_of(path: str) -> tuple[tuple[str, str], ...]:
    """The values that the directories of a path say."""
    pairs = [part.partition("=") for part in path.split("/")[:-1] if "=" in part]
    return tuple((name, unquote(value)) for name, _, value in pairs)

"""From records to rows of a table: what a format of values is, and the one that keeps all bytes.

A format turns a batch of records into a batch of rows, in the same order, at most one for each
record. A record that gives no row is either dropped or dead; a dead one has a reason. Formats go to
the tasks: they are pickled once for each.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

import pyarrow as pa

from odradek.pipelines.columns import COLUMNS, arrow_schema

RECORD: Final = tuple(COLUMNS)
"""The columns that every format is given."""
RECORD_SCHEMA: Final = arrow_schema(RECORD)
PREFIX: Final = "_"


@dataclass(frozen=True, slots=True)
class Converted:
    """What became of a batch of records: `dead` has reasons by row number of the batch."""

    rows: pa.RecordBatch
    dead: Mapping[int, str] = field(default_factory=dict)
    dropped: frozenset[int] = frozenset()


class Values(Protocol):
    """A format of values."""

    @property
    def prefix(self) -> str:
        """What the columns topic, partition, offset and timestamp begin with in the rows."""

    @property
    def schema(self) -> pa.Schema:
        """The columns of rows, as far as they are known before the first record was read.

        `{prefix}topic`, `{prefix}partition`, `{prefix}offset` and `{prefix}timestamp` are among
        them, with the types that records have.
        """

    @property
    def may_grow(self) -> bool:
        """Whether rows may have columns that the table does not have."""

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:
        """Rows of a batch that has the columns `RECORD`.

        `table` is the schema of the table that they go to. Rows may have more columns or wider
        types, then the table grows; a value that no wider type holds makes its record dead.
        """


@dataclass(frozen=True, slots=True)
class RawValues:
    """Every column of a record as it is, so that a topic can be made from the table again."""

    prefix: str = ""

    @property
    def schema(self) -> pa.Schema:
        """The columns of a record."""
        return RECORD_SCHEMA

    @property
    def may_grow(self) -> bool:
        """A record has always the same."""
        return False

    def convert(self, batch: pa.RecordBatch, table: pa.Schema) -> Converted:  # noqa: ARG002
        """All of them."""
        return Converted(batch)


RAW: Final = RawValues()

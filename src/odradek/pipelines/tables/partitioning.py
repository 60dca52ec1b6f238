"""How a table is split into directories: by a column, or by the day or hour of a timestamp.

Written `topic`, `day(timestamp)` or `hour(event_time)`. The values of a row are texts, as the
paths of files and Delta's log have them.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from odradek.model.moments import YEAR_1, YEAR_10000
from odradek.pipelines.columns import MICROS
from odradek.pipelines.errors import InvalidOption

IDENTITY: Final = "identity"
FORMATS: Final = {"day": "%Y-%m-%d", "hour": "%Y-%m-%d-%H"}
NULL: Final = "__HIVE_DEFAULT_PARTITION__"

_WRITTEN = re.compile(r"(?:(?P<transform>day|hour)\((?P<source>\w+)\)|(?P<column>\w+))")


@dataclass(frozen=True, slots=True)
class PartitionField:
    """One level of directories."""

    transform: str
    source: str

    @property
    def name(self) -> str:
        """The column that readers see, such as `timestamp_day`."""
        return self.source if self.transform == IDENTITY else f"{self.source}_{self.transform}"

    @property
    def type(self) -> pa.DataType:
        """The column's type, if it is not one of the rows' own."""
        return pa.date32() if self.transform == "day" else pa.string()

    def __str__(self) -> str:
        return self.source if self.transform == IDENTITY else f"{self.transform}({self.source})"

    def values(self, batch: pa.RecordBatch) -> pa.Array:
        """The text of each row's value."""
        column = batch.column(self.source)
        if self.transform == IDENTITY:
            texts = pc.cast(column, pa.string())
        else:
            texts = pc.strftime(_whole_seconds(_within_calendar(column)), FORMATS[self.transform])
        return pc.fill_null(texts, NULL)


def _within_calendar(column: pa.Array) -> pa.Array:
    """Null for a time of which no reader knows the day: one such text costs it the whole table."""
    first, end = (pa.scalar(it * MICROS, column.type) for it in (YEAR_1, YEAR_10000))
    known = pc.and_(pc.greater_equal(column, first), pc.less(column, end))
    return pc.if_else(known, column, pa.scalar(None, column.type))


def _whole_seconds(column: pa.Array) -> pa.Array:
    """The second that each time is in, before 1970, too."""
    return pc.cast(pc.floor_temporal(column, unit="second"), pa.timestamp("s", tz="UTC"))


def parse(text: str) -> PartitionField:
    """What a definition or a table's property says."""
    match = _WRITTEN.fullmatch(text.replace(" ", ""))
    if match is None:
        raise InvalidOption(
            f"{text!r} is no partitioning: give a column, day(COLUMN) or hour(COLUMN)"
        )
    if match["column"]:
        return PartitionField(IDENTITY, match["column"])
    return PartitionField(match["transform"], match["source"])


def check(fields: Sequence[PartitionField], schema: pa.Schema) -> None:
    """Refuses columns that are not there, or are of a type that the transform cannot take."""
    names = {it.casefold() for it in schema.names} - {it.source.casefold() for it in fields}
    for field in fields:
        if field.name.casefold() in names:
            raise InvalidOption(
                f"the table cannot be partitioned by {field}: column {field.name} would be there "
                "twice"
            )
        names.add(field.name.casefold())
        if field.source not in schema.names:
            raise InvalidOption(
                f"the table cannot be partitioned by {field}: it has no column {field.source}"
            )
        kind = schema.field(field.source).type
        if field.transform != IDENTITY and not pa.types.is_timestamp(kind):
            raise InvalidOption(
                f"the table cannot be partitioned by {field}: {field.source} is {kind}, "
                "not a timestamp"
            )
        if field.transform == IDENTITY and not (
            pa.types.is_string(kind) or pa.types.is_integer(kind) or pa.types.is_date(kind)
        ):
            raise InvalidOption(
                f"the table cannot be partitioned by {field}: its type is {kind}; "
                "text, whole numbers and dates can"
            )


def split(
    fields: Sequence[PartitionField], batch: pa.RecordBatch
) -> Iterator[tuple[tuple[str, ...], pa.RecordBatch]]:
    """The rows of each combination of values, in the order in which the combinations appear."""
    if not fields or not batch.num_rows:
        yield ("",) * len(fields), batch
        return
    columns = [pc.dictionary_encode(field.values(batch)) for field in fields]
    if all(len(column.dictionary) == 1 for column in columns):
        yield tuple(column.dictionary[0].as_py() for column in columns), batch
        return
    keys = pa.table({str(n): column.dictionary_decode() for n, column in enumerate(columns)})
    for row in keys.group_by(keys.column_names, use_threads=False).aggregate([]).to_pylist():
        values = tuple(row.values())
        mask = None
        for column, value in zip(keys.columns, values, strict=True):
            same = pc.equal(column, value)
            mask = same if mask is None else pc.and_(mask, same)
        assert mask is not None
        yield values, batch.filter(mask.combine_chunks())

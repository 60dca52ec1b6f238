"""Which table a location such as `delta:lake/orders` names."""

from collections.abc import Mapping

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.tables.delta import DeltaFormat
from odradek.pipelines.tables.log import LogTable
from odradek.pipelines.tables.parquet import ParquetFormat
from odradek.pipelines.tables.store import open_store
from odradek.pipelines.tables.table import Table

FORMATS = ("delta", "iceberg", "parquet")


def parse(location: str) -> tuple[str, str]:
    """The format, and where the table lies."""
    form, colon, place = location.partition(":")
    if form not in FORMATS or not colon or not place:
        raise InvalidOption(
            f"{location!r} is no table: give delta:DIR, parquet:DIR, iceberg:DIR or "
            "iceberg:CATALOG.NAMESPACE.NAME; DIR may be an s3:// URI"
        )
    return form, place


def open_table(location: str, options: Mapping[str, str] | None = None) -> Table:
    """A table that is there or may be created. `options` are those of its store or catalog."""
    form, place = parse(location)
    if form == "iceberg":
        from odradek.pipelines.tables.iceberg import IcebergTable

        return IcebergTable(place, options or {})
    store = open_store(place, options)
    return LogTable(store, DeltaFormat() if form == "delta" else ParquetFormat())

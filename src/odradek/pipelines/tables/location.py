"""Which table a location such as `delta:lake/orders` names."""

from collections.abc import Mapping
from typing import Final

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.secrets import revealed
from odradek.pipelines.tables.addresses import ADDRESSES, local_path, open_store, scheme_of
from odradek.pipelines.tables.delta import DeltaFormat
from odradek.pipelines.tables.local_store import LocalStore
from odradek.pipelines.tables.log import LogTable
from odradek.pipelines.tables.object_store import SCHEMES
from odradek.pipelines.tables.parquet import ParquetFormat
from odradek.pipelines.tables.staging import StagedStore
from odradek.pipelines.tables.table import Table

FORMATS: Final = ("delta", "iceberg", "parquet")


def parse(location: str) -> tuple[str, str]:
    """The format, and where the table lies; `InvalidOption` for what can be no table."""
    form, colon, place = location.partition(":")
    if form not in FORMATS or not colon or not place:
        raise InvalidOption(
            f"{location!r} is no table: give delta:DIR, parquet:DIR, iceberg:DIR/ or "
            f"iceberg:CATALOG.NAMESPACE.NAME; DIR may be {ADDRESSES}"
        )
    scheme = scheme_of(place)
    if form == "iceberg" and scheme in SCHEMES:
        raise InvalidOption(_CATALOG_NEEDED.format(place=place, address=place.rstrip("/")))
    return form, place


_CATALOG_NEEDED: Final = """\
iceberg:{place} names no catalog, and a bucket cannot be one. Name a table of a catalog:
    --to iceberg:lake.sales.orders
    --option type=rest --option uri=https://CATALOG --option warehouse={address}
or in a pipeline's file:
    [table]
    location = "iceberg:lake.sales.orders"
    [table.options]
    type = "rest"    # or "sql", with uri = "postgresql+psycopg2://HOST/DATABASE"
    uri = "https://CATALOG"
    warehouse = "{address}\""""


def open_table(location: str, options: Mapping[str, str] | None = None) -> Table:
    """A table that is there or may be created. `options` are those of its store or catalog."""
    form, place = parse(location)
    options = revealed(options or {})
    if form == "iceberg":
        from odradek.pipelines.tables.iceberg import IcebergTable

        return IcebergTable(local_path(place) or place, options)
    store = open_store(place, options)
    if form == "delta":
        return LogTable(store, DeltaFormat())
    if isinstance(store, LocalStore):
        store = StagedStore(store.root)
    return LogTable(store, ParquetFormat())

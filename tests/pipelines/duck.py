"""DuckDB, which reads tables of each format by itself: its extensions come as wheels."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import duckdb

from odradek.pipelines.tables.location import open_table

EXTENSIONS: Final = ("avro", "delta", "iceberg")
"""That of Iceberg reads its manifests by that of Avro."""


@cache
def connection() -> Any:
    """One that looks for nothing elsewhere."""
    found = duckdb.connect()
    for name in EXTENSIONS:
        spec = find_spec(f"duckdb_extension_{name}")
        assert spec is not None, f"there is no duckdb-extension-{name}"
        assert spec.origin is not None
        folder = Path(spec.origin).parent / "extensions" / f"v{duckdb.__version__}"
        found.load_extension(str(folder / f"{name}.duckdb_extension"))
    found.execute("SET TimeZone = 'UTC'")
    return found


def rows_of(location: str) -> Any:
    """All rows of a table, as a relation."""
    form, _, place = location.partition(":")
    if form == "delta":
        return connection().sql("SELECT * FROM delta_scan(?)", params=[place])
    if form == "iceberg":
        table: Any = open_table(location)
        table.load()
        newest = table._table.metadata_location.removeprefix("file://")
        return connection().sql("SELECT * FROM iceberg_scan(?)", params=[newest])
    files = [str(it) for it in Path(place).glob("**/*.parquet") if it.name[0] not in "._"]
    return connection().read_parquet(files, union_by_name=True)

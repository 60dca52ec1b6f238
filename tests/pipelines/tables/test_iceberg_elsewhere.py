"""An Iceberg table in a directory, as programs meet it that know nothing of us."""

from pathlib import Path

import pytest
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.exceptions import NoSuchTableError

from tests.pipelines.tables.lake import Lake, expected, new_range


def catalog_of(directory: Path, name: str) -> Catalog:
    """What the documents tell others to write."""
    return load_catalog(name, type="sql", uri=f"sqlite:///{directory}/catalog.db")


def test_its_catalog_has_the_name_that_the_documents_say(tmp_path: Path) -> None:
    """It names the table as the directory, with `_` for dots; under another name it is empty."""
    directory = tmp_path / "orders.of.all"
    lake = Lake(f"iceberg:{directory}/")
    lake.append(lake.create(), new_range(0, 10))
    table = catalog_of(directory, "odradek").load_table("odradek.orders_of_all")
    found = table.scan().to_arrow().select(["partition", "offset", "value"]).to_pylist()
    assert sorted(tuple(it.values()) for it in found) == expected(10)
    with pytest.raises(NoSuchTableError):
        catalog_of(directory, "another").load_table("odradek.orders_of_all")


def test_a_commit_says_nothing_of_bounds_that_are_meant_to_be_missing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Pyiceberg would name each column of bytes in each file: 578 lines of a run."""
    lake = Lake(f"iceberg:{tmp_path}/t/")
    lake.append(lake.create(), new_range(0, 10))
    assert not caplog.records

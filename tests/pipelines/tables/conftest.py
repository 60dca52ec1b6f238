"""Places for tables: a directory, and a bucket of a fake S3 server."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pipelines.tables.lake import Lake

FORMATS = ("delta", "iceberg", "parquet")


def on_s3(name: str, directory: Path, options: dict[str, str]) -> "Lake":
    """A table in the bucket; Iceberg's catalog stays in a file."""
    from tests.pipelines.tables.lake import Lake

    place = f"s3://lake/{directory.name}"
    if name != "iceberg":
        return Lake(f"{name}:{place}", options)
    catalog = {
        "type": "sql",
        "uri": f"sqlite:///{directory}/catalog.db",
        "warehouse": place,
        **of_iceberg(options),
    }
    return Lake("iceberg:test.lake.orders", catalog)


def of_iceberg(options: dict[str, str]) -> dict[str, str]:
    """The options of a bucket, as pyiceberg calls them."""
    return {f"s3.{name.replace('_', '-')}": value for name, value in options.items()}


@pytest.fixture
def rest_catalog(tmp_path: Path) -> Iterator[str]:
    """The URI of a REST catalog of Iceberg."""
    from tests.pipelines.tables.rest_catalog import serving

    with serving(tmp_path) as uri:
        yield uri


@pytest.fixture
def rest_catalog_of_s3(tmp_path: Path, bucket: dict[str, str]) -> Iterator[str]:
    """The same; it tells with each table how the bucket is reached."""
    from tests.pipelines.tables.rest_catalog import serving

    place = f"s3://lake/{tmp_path.name}"
    with serving(tmp_path, place, of_iceberg(bucket)) as uri:
        yield uri


@pytest.fixture(params=[*FORMATS, *(f"{name}-s3" for name in FORMATS), "iceberg-rest"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> "Lake":
    """Each format, in a directory and in a bucket; Iceberg through a REST catalog, too."""
    from tests.pipelines.tables.lake import Lake

    name, _, on = request.param.partition("-")
    if on == "rest":
        uri = request.getfixturevalue("rest_catalog")
        return Lake("iceberg:rest.lake.orders", {"type": "rest", "uri": uri})
    if on:
        return on_s3(name, tmp_path, request.getfixturevalue("bucket"))
    return Lake(f"{name}:{tmp_path}/{name}")

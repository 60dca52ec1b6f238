"""Where a table may lie, and what becomes of an address that no store understands: an error."""

from pathlib import Path
from typing import Any

import pytest

from odradek.pipelines.definition.definition import parse
from odradek.pipelines.errors import InvalidOption, PipelineError
from odradek.pipelines.tables.addresses import open_store
from odradek.pipelines.tables.location import open_table
from odradek.pipelines.tables.table import NoSuchTable
from tests.pipelines.tables.in_front import in_front_of
from tests.pipelines.tables.lake import Lake, expected, new_range

NOWHERE = (
    "delta:hdfs://name/lake",
    "parquet:s3:/lake/orders",
    "delta:s3:lake",
    "iceberg:hdfs://name/lake/",
    "iceberg:s3:/lake/orders/",
    "parquet:S33://lake",
    "iceberg:http://host/lake/",
)


@pytest.mark.parametrize("location", [*NOWHERE, "iceberg:s3://lake/orders/", "iceberg:gs://lake/o"])
def test_no_folder_has_the_name_of_an_address(
    location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is refused where a file is read, and where a table is opened; nothing is made."""
    monkeypatch.chdir(tmp_path)
    source = {"bootstrap-server": "127.0.0.1:9092", "topics": ["orders"]}
    with pytest.raises(InvalidOption):
        parse({"name": "p", "source": source, "table": {"location": location}}, tmp_path)
    with pytest.raises(InvalidOption):
        open_table(location)
    assert not list(tmp_path.iterdir())


def test_a_bucket_is_no_catalog() -> None:
    """The lines that would work are said."""
    with pytest.raises(InvalidOption) as error:
        open_table("iceberg:s3a://lake/orders/")
    assert "iceberg:s3a://lake/orders/ names no catalog" in str(error.value)
    assert '    warehouse = "s3a://lake/orders"' in str(error.value).splitlines()


def test_a_folder_with_a_colon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be given, if it is given as a path."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidOption, match=r"one of such a name is \./lake:orders"):
        open_table("delta:lake:orders")
    lake = Lake("delta:./lake:orders")
    lake.append(lake.create(), new_range(0, 10))
    assert Lake(f"delta:{tmp_path}/lake:orders").rows() == expected(10)


@pytest.mark.parametrize("form", ["delta", "iceberg", "parquet"])
def test_a_file_uri_is_a_path(form: str, tmp_path: Path) -> None:
    """In each format the same table has both addresses."""
    lake = Lake(f"{form}:{tmp_path.as_uri()}/my%20lake/")
    lake.append(lake.create(), new_range(0, 10))
    assert [it.name for it in tmp_path.iterdir()] == ["my lake"]
    assert Lake(f"{form}:{tmp_path}/my lake/").rows() == expected(10)


@pytest.mark.parametrize(
    ("address", "uri", "client"),
    [
        ("s3://lake/a/", "s3://lake/a", 'S3Store(bucket="lake", prefix="a")'),
        ("s3a://lake/a", "s3://lake/a", 'S3Store(bucket="lake", prefix="a")'),
        ("gs://lake/a", "gs://lake/a", 'GCSStore(bucket="lake", prefix="a")'),
        (
            "abfss://lake@me.dfs.core.windows.net/a",
            "abfss://lake@me.dfs.core.windows.net/a",
            'AzureStore(container_name="lake", account_name="me", prefix="a")',
        ),
    ],
)
def test_each_store_has_its_client(address: str, uri: str, client: str) -> None:
    """By the scheme of the address, whatever else it is called."""
    store: Any = open_store(address)
    assert store.uri == uri
    assert str(store._client()) == client


def test_secrets_are_not_shown() -> None:
    """Neither where a store is printed nor where an option is wrong."""
    store: Any = open_store("s3://lake", {"secret_access_key": "hush", "regoin": "x"})
    with pytest.raises(PipelineError, match=r"s3://lake: Configuration key: 'regoin'") as error:
        store.get("a")
    assert "hush" not in f"{store!r} {error.value}"


def test_a_bucket_that_is_not_there(bucket: dict[str, str]) -> None:
    """It is said when a table is made there, and whenever something is written."""
    lake = Lake("delta:s3://no-such-bucket/t", bucket)
    with pytest.raises(NoSuchTable):
        lake.table.load()
    with pytest.raises(PipelineError, match="s3://no-such-bucket/t: there is no such bucket"):
        lake.create()
    with (
        pytest.raises(PipelineError, match="there is no such bucket"),
        lake.table.store.writing("a") as file,
    ):
        file.write(b"rows")


def test_a_catalog_tells_how_its_bucket_is_reached(rest_catalog_of_s3: str) -> None:
    """Credentials that a REST catalog gives out with a table are used for the table's files."""
    lake = Lake("iceberg:rest.lake.orders", {"type": "rest", "uri": rest_catalog_of_s3})
    lake.append(lake.create(), new_range(0, 10))
    assert lake.table.store.uri.startswith("s3://lake/")
    assert lake.again().rows() == expected(10)


@pytest.mark.parametrize("form", ["delta", "parquet"])
def test_a_store_that_ignores_conditional_puts(
    form: str, bucket: dict[str, str], tmp_path: Path
) -> None:
    """Two writers would undo each other's commits there; nothing is left of the probe."""
    with in_front_of(bucket["endpoint"], without="if-none-match") as endpoint:
        lake = Lake(f"{form}:s3://lake/{tmp_path.name}", {**bucket, "endpoint": endpoint})
        with pytest.raises(InvalidOption, match="ignores conditional puts"):
            lake.create()
    assert not list(open_store(f"s3://lake/{tmp_path.name}", bucket).list(""))

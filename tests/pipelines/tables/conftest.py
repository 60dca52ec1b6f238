"""Places for tables: a directory, and a bucket of a fake S3 server."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pipelines.tables.lake import Lake

FORMATS = ("delta", "iceberg", "parquet")


@pytest.fixture(scope="session")
def bucket() -> Iterator[dict[str, str]]:
    """A bucket `lake`, as the options of a store."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    endpoint = f"http://{host}:{port}"
    options = {
        "endpoint": endpoint,
        "region": "us-east-1",
        "access_key_id": "test",
        "secret_access_key": "test",
    }
    client = boto3.client(
        "s3",
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
    )
    client.create_bucket(Bucket="lake")
    yield options
    server.stop()


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
        "s3.endpoint": options["endpoint"],
        "s3.region": options["region"],
        "s3.access-key-id": options["access_key_id"],
        "s3.secret-access-key": options["secret_access_key"],
    }
    return Lake("iceberg:test.lake.orders", catalog)


@pytest.fixture
def rest_catalog(tmp_path: Path) -> Iterator[str]:
    """The URI of a REST catalog of Iceberg."""
    from tests.pipelines.tables.rest_catalog import serving

    with serving(tmp_path) as uri:
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

"""Which store an address names: a path, a `file://` URI, a prefix of a bucket."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from odradek.pipelines.errors import InvalidOption
from odradek.pipelines.tables.local_store import LocalStore
from odradek.pipelines.tables.object_store import SCHEMES, ObjectStore
from odradek.pipelines.tables.store import Store

FILE: Final = "file"
SAME: Final = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
"""Other names of a scheme, which Hadoop and others use."""
ADDRESSES: Final = (
    "s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "
    "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PREFIX"
)

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def scheme_of(place: str) -> str:
    """Of an address; "" for a path. `InvalidOption` for an address that no store understands."""
    found = _SCHEME.match(place)
    if found is None:
        return ""
    scheme = SAME.get(found[1].lower(), found[1].lower())
    if scheme not in {*SCHEMES, FILE} or not place[found.end() :].startswith("//"):
        raise InvalidOption(
            f"{place!r} is no address of a store: give {ADDRESSES}, or a directory; "
            f"one of such a name is ./{place}"
        )
    return scheme


def open_store(place: str, options: Mapping[str, str] | None = None) -> Store:
    """The store at a path, a `file://` URI or the address of a bucket."""
    scheme = scheme_of(place)
    if scheme in SCHEMES:
        address = place.partition("://")[2].rstrip("/")
        return ObjectStore(f"{scheme}://{address}", tuple(sorted((options or {}).items())))
    return LocalStore(Path(local_path(place) or place).absolute())


def local_path(address: str) -> str | None:
    """The path of a `file://` URI; None for all else."""
    return unquote(urlsplit(address).path) if scheme_of(address) == FILE else None

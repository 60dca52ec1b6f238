"""Catalogs of Iceberg tables, and what they and their stores say when something is wrong."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from odradek.pipelines.errors import Away, InvalidOption, PipelineError
from odradek.pipelines.tables.table import DamagedLog

NAMESPACE: Final = "odradek"
UNREADABLE: Final = (
    FileNotFoundError,
    ValueError,
    LookupError,
    EOFError,
    TypeError,
    AssertionError,
)
"""What pyiceberg raises at bytes that are no metadata."""
CATALOG_TABLES: Final = 2
"""In SQL: those that pyiceberg makes in a new catalog."""


def catalog_of(name: str, options: Mapping[str, str]) -> tuple[tuple[str, ...], Any, str | None]:
    """Identifier, catalog, and where a new table shall lie, if it is not the catalog's to say."""
    from pyiceberg.catalog import load_catalog

    if "/" in name or name.startswith("."):
        directory = Path(name).absolute()
        directory.mkdir(parents=True, exist_ok=True)
        with named(f"iceberg:{name}"):
            catalog = _catalog_in(directory, options)
        return (NAMESPACE, directory.name.replace(".", "_")), catalog, unquote(directory.as_uri())
    parts = tuple(name.split("."))
    if len(parts) < 3 or not all(parts):
        raise InvalidOption(
            f"iceberg:{name} names no table: give iceberg:DIRECTORY/ with a slash, or "
            "iceberg:CATALOG.NAMESPACE.NAME"
        )
    with named(f"iceberg:{name}"):
        return parts[1:], load_catalog(parts[0], **options), None


def _catalog_in(directory: Path, options: Mapping[str, str]) -> Any:
    """The one of a directory. Each of its tables may be made by another process meanwhile."""
    from pyiceberg.catalog import load_catalog

    uri = f"sqlite:///{directory}/catalog.db"
    settings = {"warehouse": directory.as_uri(), "type": "sql", "uri": uri, **options}
    for _ in range(CATALOG_TABLES):
        try:
            return load_catalog("odradek", **settings)
        except Exception as error:  # of SQLAlchemy
            if "already exists" not in str(error):
                raise
    return load_catalog("odradek", **settings)


@contextmanager
def readable(location: str) -> Iterator[None]:
    """What is damaged or missing of the table's own metadata is a sentence, too."""
    from pyiceberg.exceptions import ValidationError

    try:
        yield
    except (*UNREADABLE, ValidationError) as error:
        raise DamagedLog(
            f"{location}: its metadata cannot be read ({type(error).__name__}: "
            f"{first_line(error)}): restore that file, or begin another table"
        ) from error


class named:  # noqa: N801 - read as a verb after `with`
    """Turns what a catalog or its store meets into a sentence that names the table."""

    def __init__(self, location: str) -> None:
        self._location = location

    def __enter__(self) -> None:
        """Nothing is held."""

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if error is None or isinstance(error, PipelineError):
            return
        from pyiceberg.exceptions import (
            CommitFailedException,
            CommitStateUnknownException,
            RESTError,
            ServerError,
            ServiceUnavailableError,
            TooManyRequestsError,
        )

        if type(error).__module__.startswith("sqlalchemy"):
            if "locked" in str(error):
                raise CommitFailedException("the catalog is busy") from error
            is_away = type(error).__name__ in {"OperationalError", "InterfaceError"}
        elif isinstance(error, (OSError, ServerError, ServiceUnavailableError)):
            is_away = not isinstance(error, (FileNotFoundError, PermissionError))
        elif isinstance(error, RESTError) and not isinstance(error, CommitStateUnknownException):
            is_away = isinstance(error, TooManyRequestsError)
        else:
            return
        kind = Away if is_away else PipelineError
        raise kind(f"{self._location}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """What it says, without what stands below."""
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__

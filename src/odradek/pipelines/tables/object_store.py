"""Objects in a bucket: S3, Google Cloud Storage, Azure Data Lake Storage."""

import datetime as dt
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final

from odradek.pipelines.errors import Away, InvalidOption, PipelineError
from odradek.pipelines.tables.store import Entry, nonce

SCHEMES: Final = ("s3", "gs", "abfss")
PART_BYTES: Final = 8 << 20
NOT_FOUND: Final = "404 Not Found"
SENTENCE_MAX: Final = 300
ATTEMPTS_FOR: Final = dt.timedelta(seconds=60)
"""For so long a request is repeated. A run that has begun then waits, and says so."""


class NoSuchBucket(PipelineError):
    """Nothing is there, and nothing can be written."""


@dataclass(frozen=True)
class ObjectStore:
    """A prefix of a bucket. Keys, region and endpoint come from the options, or the environment."""

    uri: str
    options: tuple[tuple[str, str], ...] = field(default=(), repr=False)  # some are secrets

    @property
    def scheme(self) -> str:
        """Whose store it is."""
        return self.uri.partition("://")[0]

    @property
    def is_plain(self) -> bool:
        """Whether its endpoint has no TLS."""
        endpoint = dict(self.options).get("endpoint") or os.environ.get("AWS_ENDPOINT_URL", "")
        return endpoint.startswith("http://")

    def _client(self) -> Any:
        cached = _CLIENTS.get(self)
        if cached is None:
            from obstore.store import from_url

            client_options: Any = {"allow_http": True} if self.is_plain else {}
            settings: dict[str, Any] = dict(self.options)
            retries: Any = {"retry_timeout": ATTEMPTS_FOR}
            cached = from_url(
                self.uri, client_options=client_options, retry_config=retries, **settings
            )
            _CLIENTS[self] = cached
        return cached

    def get(self, key: str) -> bytes | None:
        """One request."""
        import obstore

        try:
            with self._named():
                return bytes(obstore.get(self._client(), key).bytes())
        except FileNotFoundError:
            return None

    def put_new(self, key: str, data: bytes) -> bool:
        """A conditional put. Repeated after a lost answer it finds its own object: read it."""
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        try:
            with self._named(), self._there():
                obstore.put(self._client(), key, data, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError, FileExistsError):
            return False
        return True

    def put(self, key: str, data: bytes) -> None:
        """An ordinary put."""
        import obstore

        with self._named(), self._there():
            obstore.put(self._client(), key, data)

    def list(self, prefix: str) -> Iterator[Entry]:
        """Page by page."""
        import obstore

        with self._named():
            for page in obstore.list(self._client(), prefix or None):
                for row in page:
                    modified_ms = int(row["last_modified"].timestamp() * 1_000)
                    yield Entry(row["path"], row["size"], modified_ms)

    def delete(self, keys: Iterable[str]) -> None:
        """In bulk."""
        import obstore

        wanted = list(keys)
        if wanted:
            with self._named():
                obstore.delete(self._client(), wanted)

    @contextmanager
    def writing(self, key: str) -> Iterator[Any]:
        """A multipart upload: the object exists when the last part is in."""
        import obstore

        with self._named():
            writer = obstore.open_writer(self._client(), key, buffer_size=PART_BYTES)
        yield _Named(self, writer)
        with self._named(), self._there():
            writer.close()  # after an error it stays open: what is not completed makes no object

    def reading(self, key: str) -> Any:
        """Ranges are fetched when they are read."""
        import obstore
        import pyarrow as pa

        with self._named():
            reader = obstore.open_reader(self._client(), key)
        return pa.PythonFile(_Ranges(self, reader), mode="r")

    def check_conditional_puts(self) -> None:
        """Refuses a store in which two writers can take one name: they would undo each other."""
        key = f".odradek-probe-{nonce()}"
        self.put(key, b"1")
        try:
            is_taken_twice = self.put_new(key, b"2")
        finally:
            with suppress(PipelineError):
                self.delete([key])
        if is_taken_twice:
            raise InvalidOption(
                f"{self.uri}: the store ignores conditional puts (If-None-Match), so that of two "
                "commits at once one would undo the other: take a store that honours them, or an "
                "Iceberg table of a catalog"
            )

    @contextmanager
    def _there(self) -> Iterator[None]:
        """Where something is written, what is not found is the bucket."""
        try:
            yield
        except FileNotFoundError as error:
            raise NoSuchBucket(f"{self.uri}: there is no such bucket") from error

    @contextmanager
    def _named(self) -> Iterator[None]:
        from obstore.exceptions import (
            AlreadyExistsError,
            BaseError,
            GenericError,
            PreconditionError,
        )

        try:
            yield
        except (FileNotFoundError, FileExistsError, AlreadyExistsError, PreconditionError):
            raise
        except (BaseError, OSError) as error:  # its files raise the latter
            first = str(error).strip().splitlines()[0]
            if NOT_FOUND in first:  # of a listing, which has no key that could be missing
                raise NoSuchBucket(f"{self.uri}: there is no such bucket") from error
            kind = Away if isinstance(error, (GenericError, OSError)) else PipelineError
            raise kind(f"{self.uri}: {first[:SENTENCE_MAX]}") from error


class _Named:
    """A writer whose errors name the store."""

    def __init__(self, store: ObjectStore, writer: Any) -> None:
        self._store = store
        self._writer = writer

    def write(self, data: Any) -> None:
        with self._store._named(), self._store._there():  # noqa: SLF001 - its own kind
            self._writer.write(data)


class _Ranges:
    """What pyarrow asks of a file."""

    def __init__(self, store: ObjectStore, reader: Any) -> None:
        self._store = store
        self._reader = reader
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        with self._store._named():  # noqa: SLF001 - its own kind
            return bytes(self._reader.read(self._reader.size if size < 0 else size))

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def size(self) -> int:
        return int(self._reader.size)

    def close(self) -> None:
        self.closed = True


_CLIENTS: Final[dict[ObjectStore, Any]] = {}
"""One client, with its connections, for each prefix in a process."""

"""Objects under one location, a directory or an S3 prefix: the few operations that a table needs.

`put_new` writes an object whole, or finds that the name is taken: of two writers of one name one
wins. That is what commits stand on. In a directory it is a synced temporary file and a hard link;
on S3 a conditional put (`If-None-Match`).
"""

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, Protocol
from urllib.parse import unquote, urlsplit

from odradek.pipelines.errors import InvalidOption, PipelineError

S3_PART_BYTES: Final = 8 << 20
TEMPORARY: Final = ".partial-"  # Spark and Hive do not read what begins with a dot
WRITE_BEHIND_BYTES: Final = 4 << 20
"""After so many bytes of a file the kernel is asked to write them to the device."""


@dataclass(frozen=True, slots=True)
class Entry:
    """An object, as a listing shows it."""

    key: str
    bytes: int
    modified_ms: int


class Store(Protocol):
    """Objects by key; a key is a relative path with `/`."""

    @property
    def uri(self) -> str:
        """Where the objects lie, as Spark and other programs name it."""

    def get(self, key: str) -> bytes | None:
        """The whole object; None if there is none."""

    def put_new(self, key: str, data: bytes) -> bool:
        """Writes an object whole; False if the key is taken."""

    def put(self, key: str, data: bytes) -> None:
        """Writes an object whole, in place of what was there."""

    def list(self, prefix: str) -> Iterator[Entry]:
        """All objects whose keys begin with this directory."""

    def delete(self, keys: Iterable[str]) -> None:
        """Removes objects; those that are gone already do not matter."""

    def writing(self, key: str) -> Any:
        """A context with a binary file; the object exists when the context has ended well."""

    def reading(self, key: str) -> Any:
        """A file that pyarrow reads from."""


def open_store(location: str, options: Mapping[str, str] | None = None) -> Store:
    """The store at a path, a `file://` or an `s3://` URI."""
    scheme, _, rest = location.partition("://")
    if not rest:
        return LocalStore(Path(location).absolute())
    if scheme == "file":
        return LocalStore(Path(unquote(urlsplit(location).path)))
    if scheme in {"s3", "s3a"}:
        return S3Store(f"s3://{rest.rstrip('/')}", tuple(sorted((options or {}).items())))
    raise InvalidOption(f"{location} is neither a path nor a file:// or s3:// URI")


@dataclass(frozen=True)
class LocalStore:
    """A directory."""

    root: Path

    @property
    def uri(self) -> str:
        """An absolute path: what every program accepts."""
        return str(self.root)

    def get(self, key: str) -> bytes | None:
        """Reads the file."""
        try:
            return (self.root / key).read_bytes()
        except FileNotFoundError:
            return None

    def put_new(self, key: str, data: bytes) -> bool:
        """A hard link fails if the name is there; the file behind it is whole and synced."""
        path = self.root / key
        temporary = self._written(path, data)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        finally:
            temporary.unlink()
        _sync_directory(path.parent)
        return True

    def put(self, key: str, data: bytes) -> None:
        """A rename replaces the file at once."""
        path = self.root / key
        self._written(path, data).replace(path)
        _sync_directory(path.parent)

    def _written(self, path: Path, data: bytes) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f"{TEMPORARY}{nonce()}")
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        return temporary

    def list(self, prefix: str) -> Iterator[Entry]:
        """Walks the directory; what vanishes meanwhile is left out."""
        for directory, _, names in os.walk(self.root / prefix):
            for name in names:
                path = Path(directory) / name
                try:
                    status = path.stat()
                except FileNotFoundError:
                    continue
                key = path.relative_to(self.root).as_posix()
                yield Entry(key, status.st_size, status.st_mtime_ns // 1_000_000)

    def delete(self, keys: Iterable[str]) -> None:
        """Unlinks the files, and directories that this leaves empty."""
        for key in keys:
            (self.root / key).unlink(missing_ok=True)
            for parent in (self.root / key).parents:
                if parent == self.root or not _removed_if_empty(parent):
                    break

    @contextmanager
    def writing(self, key: str) -> Iterator["_WriteBehindFile"]:
        """The file has another name until it is whole and synced; its name is durable, too."""
        path = self.root / key
        temporary = path.with_name(f"{TEMPORARY}{nonce()}")
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                file = temporary.open("xb")
                break
            except FileNotFoundError:  # a sweep has just removed the empty directory
                continue
        try:
            with file:
                yield _WriteBehindFile(file)
                file.flush()
                os.fsync(file.fileno())
            temporary.rename(path)
            for directory in path.relative_to(self.root).parents:  # some may be new, too
                _sync_directory(self.root / directory)
        finally:
            temporary.unlink(missing_ok=True)

    def reading(self, key: str) -> Any:
        """Not mapped: what is read of a large file would count as this process's memory."""
        import pyarrow as pa

        return pa.OSFile(str(self.root / key))


class _WriteBehindFile:
    """A file whose bytes go to the device while the next ones are made, so that the sync is short.

    Without it a sync of 40 MB takes a fifth of the time in which a task reads and writes them.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._begun = 0
        self._written = 0

    def write(self, data: Any) -> int:
        """Writes all of it."""
        count = self._file.write(data)
        self._written += count
        if self._written - self._begun >= WRITE_BEHIND_BYTES:
            self._write_out()
        return count

    def _write_out(self) -> None:
        """Pages that are not needed any more are written out first: Linux does not wait for it."""
        advise = getattr(os, "posix_fadvise", None)
        if advise is not None:
            self._file.flush()
            length = self._written - self._begun
            advise(self._file.fileno(), self._begun, length, os.POSIX_FADV_DONTNEED)
        self._begun = self._written


@dataclass(frozen=True)
class S3Store:
    """A prefix of a bucket. Keys, region and endpoint come from the options, or from AWS_*."""

    uri: str
    options: tuple[tuple[str, str], ...] = ()

    def _client(self) -> Any:
        cached = _S3_CLIENTS.get(self)
        if cached is None:
            from obstore.store import S3Store as Client

            settings: dict[str, Any] = dict(self.options)
            plain = str(settings.get("endpoint", "")).startswith("http://") or os.environ.get(
                "AWS_ENDPOINT_URL", ""
            ).startswith("http://")
            client_options = {"allow_http": True} if plain else {}
            cached = Client.from_url(self.uri, client_options=client_options, **settings)
            _S3_CLIENTS[self] = cached
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
            with self._named():
                obstore.put(self._client(), key, data, mode="create", use_multipart=False)
        except (AlreadyExistsError, PreconditionError, FileExistsError):
            return False
        return True

    def put(self, key: str, data: bytes) -> None:
        """An ordinary put."""
        import obstore

        with self._named():
            obstore.put(self._client(), key, data)

    def list(self, prefix: str) -> Iterator[Entry]:
        """Page by page."""
        import obstore

        with self._named():
            for page in obstore.list(self._client(), prefix):
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
            writer = obstore.open_writer(self._client(), key, buffer_size=S3_PART_BYTES)
        yield writer
        with self._named():  # after an error it stays open: what is not completed makes no object
            writer.close()

    def reading(self, key: str) -> Any:
        """Ranges are fetched when they are read."""
        import obstore
        import pyarrow as pa

        with self._named():
            return pa.PythonFile(_Ranges(obstore.open_reader(self._client(), key)), mode="r")

    @contextmanager
    def _named(self) -> Iterator[None]:
        from obstore.exceptions import BaseError

        try:
            yield
        except (FileNotFoundError, FileExistsError):
            raise
        except BaseError as error:
            if type(error).__name__ in {"AlreadyExistsError", "PreconditionError"}:
                raise
            first = str(error).strip().splitlines()[0]
            raise PipelineError(f"{self.uri}: {first[:300]}") from error


class _Ranges:
    """What pyarrow asks of a file."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        return bytes(self._reader.read(self._reader.size if size < 0 else size))

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._reader.seek(offset, whence))

    def tell(self) -> int:
        return int(self._reader.tell())

    def size(self) -> int:
        return int(self._reader.size)

    def close(self) -> None:
        self.closed = True


_S3_CLIENTS: Final[dict[S3Store, Any]] = {}
"""One client, with its connections, for each prefix in a process."""


def nonce() -> str:
    """What makes a name new."""
    return os.urandom(8).hex()


def now_ms() -> int:
    """The wall clock."""
    return time.time_ns() // 1_000_000


def _sync_directory(path: Path) -> None:
    number = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _removed_if_empty(path: Path) -> bool:
    try:
        path.rmdir()
    except OSError:
        return False
    return True

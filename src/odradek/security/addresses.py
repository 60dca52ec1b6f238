"""Where a setting says that a document is: `file:/a/path`, or `https://...`."""

from collections.abc import Callable
from typing import Final
from urllib.parse import unquote

FILE: Final = "file:"

Read = Callable[[str], bytes]


def path_of(url: str) -> str | None:
    """The path of a file; None: the document is elsewhere."""
    if not url.startswith(FILE):
        return None
    return "/" + unquote(url.removeprefix(FILE)).lstrip("/")


def reader(read_file: Read, read_https: Read) -> Read:
    """A file by its path, and the rest by its address."""

    def read(url: str) -> bytes:
        path = path_of(url)
        return read_https(url) if path is None else read_file(path)

    return read

"""Every API by its number: what it is called, which versions we can read, and its two classes.

What is known here is what the codec can read and write; what a broker offers is a part of it, and
the broker's affair. The classes are imported when somebody asks for them.
"""

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Final, cast

from odradek.wire.messages.index import API_ROWS, RECORD_ROWS
from odradek.wire.schema import RecordKey, RecordValue, Request, Response


@dataclass(frozen=True)
class Api:
    """One row of the table."""

    key: int
    name: str
    versions: range
    flexible_from: int | None
    module: str

    @cached_property
    def request(self) -> type[Request]:
        """What a client sends."""
        return cast("type[Request]", _find(self.module, f"{self.name}Request"))

    @cached_property
    def response(self) -> type[Response]:
        """What it is answered."""
        return cast("type[Response]", _find(self.module, f"{self.name}Response"))

    def flexible(self, version: int) -> bool:
        """Whether this version has tagged fields, in its header too."""
        return self.flexible_from is not None and version >= self.flexible_from


APIS: Final = {
    key: Api(key, row.name, range(row.last_version + 1), row.flexible_from, row.module)
    for key, row in API_ROWS.items()
}
API_VERSIONS: Final = 18
CONTROLLED_SHUTDOWN: Final = 7
assert APIS[API_VERSIONS].name == "ApiVersions", "headers make an exception for it"
assert APIS[CONTROLLED_SHUTDOWN].name == "ControlledShutdown", "likewise"


@dataclass(frozen=True)
class RecordType:
    """One type of record in an internal topic."""

    topic: str
    number: int
    name: str
    module: str

    @cached_property
    def key(self) -> type[RecordKey]:
        """What it is about."""
        return cast("type[RecordKey]", _find(self.module, f"{self.name}Key"))

    @cached_property
    def value(self) -> type[RecordValue]:
        """What it says."""
        return cast("type[RecordValue]", _find(self.module, f"{self.name}Value"))


RECORD_TYPES: Final = {
    (topic, number): RecordType(topic, number, row.name, row.module)
    for (topic, number), row in RECORD_ROWS.items()
}


def _find(module: str, name: str) -> type:
    found: type = getattr(import_module(f"odradek.wire.messages.{module}"), name)
    return found

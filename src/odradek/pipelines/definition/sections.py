"""Reading a TOML file strictly: every key is known, of its type, and named in what is refused."""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.given import nearest

T = TypeVar("T")

WORDS: Final[Mapping[type, str]] = {str: "a text", int: "a whole number", bool: "true or false"}


class WrongFile(PipelineError):
    """What a pipeline's file says cannot be run; names the key."""


class Section:
    """One table of the file; `done` refuses what was not asked for."""

    def __init__(self, name: str, content: Mapping[str, Any]) -> None:
        self.name = name
        self._content = content
        self._asked: dict[str, None] = {}

    def __contains__(self, key: str) -> bool:
        self._asked[key] = None
        return key in self._content

    def text(self, key: str, default: str | None = None) -> str | None:
        """A text."""
        return self._value(key, str, default)

    def needed(self, key: str) -> str:
        """A text that must be there."""
        found = self.text(key)
        if not found:
            raise WrongFile(f"{self._where(key)} is missing")
        return found

    def number(self, key: str) -> int | None:
        """A whole number from 1 on."""
        found = self._value(key, int, None)
        if found is not None and found < 1:
            raise WrongFile(f"{self._where(key)} must be at least 1, not {found}")
        return found

    def boolean(self, key: str, *, default: bool) -> bool:
        """`true` or `false`."""
        return bool(self._value(key, bool, default))

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts; none if the key is not there."""
        self._asked[key] = None
        found = self._content.get(key, [])
        if not isinstance(found, list) or not all(isinstance(it, str) for it in found):
            raise WrongFile(f"{self._where(key)} must be a list of texts")
        return tuple(found)

    def section(self, key: str) -> "Section":
        """A table within; empty if it is not there."""
        self._asked[key] = None
        found = self._content.get(key, {})
        if not isinstance(found, Mapping):
            raise WrongFile(f"{self._where(key)} must be a section")
        return Section(self._where(key) if self.name else key, found)

    def plain(self, key: str) -> dict[str, str]:
        """A table of options, all texts or numbers, whose names are not known here."""
        inner = self.section(key)
        found = {}
        for name, value in inner._content.items():  # noqa: SLF001 - its own kind
            if not isinstance(value, (str, int, float, bool)):
                raise WrongFile(f"{inner._where(name)} must be a text or a number")  # noqa: SLF001
            found[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return found

    def names(self) -> Iterable[str]:
        """Of a table whose keys are names."""
        self._asked.update(dict.fromkeys(self._content))
        return list(self._content)

    def done(self) -> None:
        """Refuses a key that has no meaning, with the nearest that has one."""
        for key in self._content:
            if key not in self._asked:
                place = f" in [{self.name}]" if self.name else ""
                raise WrongFile(f"there is no key {key!r}{place}{nearest(key, self._asked)}")

    def _where(self, key: str) -> str:
        return f"{self.name}.{key}" if self.name else key

    def _value(self, key: str, kind: type[T], default: T | None) -> T | None:
        self._asked[key] = None
        found = self._content.get(key, default)
        if found is None or (isinstance(found, kind) and isinstance(found, bool) == (kind is bool)):
            return found
        raise WrongFile(f"{self._where(key)} must be {WORDS[kind]}, not {found!r}")

"""Contexts: named clusters with their client settings, in one file that people may edit.

The file is an INI file, `$ODRADEK_CONTEXTS` or `odradek/contexts.ini` in the folder for
configuration (`$XDG_CONFIG_HOME`, `~/.config`). A section `[context NAME]` holds settings of
Kafka's clients; `current` in the section `[odradek]` names the one that is used.
"""

import os
from configparser import ConfigParser, Error
from pathlib import Path
from typing import Final

from odradek.cli.words.failing import Failed, unknown

VARIABLE: Final = "ODRADEK_CONTEXTS"
PREFIX: Final = "context "
OWN: Final = "odradek"
OWNER_ONLY: Final = 0o600


def contexts_path() -> Path:
    """Where the file is, or would be."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    configured = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(configured).expanduser() / "odradek" / "contexts.ini"


class ContextFile:
    """The file as it was read; `save` writes it back."""

    def __init__(self) -> None:
        self.path = contexts_path()
        self._parser = ConfigParser(interpolation=None, default_section="\0", delimiters=("=",))
        try:
            with self.path.open(encoding="utf-8") as opened:
                self._parser.read_file(opened)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            pass
        except Error as error:
            raise Failed(f"{self.path}: {str(error).splitlines()[0]}") from None

    @property
    def names(self) -> list[str]:
        """Of all contexts."""
        sections = self._parser.sections()
        return [name.removeprefix(PREFIX) for name in sections if name.startswith(PREFIX)]

    @property
    def current(self) -> str | None:
        """Whose settings hold where no other is named."""
        return self._parser.get(OWN, "current", fallback=None) or None

    @current.setter
    def current(self, name: str | None) -> None:
        if name is None:
            self._parser.remove_option(OWN, "current")
            return
        if not self._parser.has_section(OWN):
            self._parser.add_section(OWN)
        self._parser.set(OWN, "current", self.known(name))

    def known(self, name: str) -> str:
        """The name, if there is such a context."""
        if name not in self.names:
            raise unknown("context", name, self.names, "odradek context list")
        return name

    def settings(self, name: str) -> dict[str, str]:
        """Of one context."""
        return dict(self._parser.items(PREFIX + self.known(name)))

    def put(self, name: str, settings: dict[str, str]) -> None:
        """Makes it, or replaces what it had."""
        section = PREFIX + name
        self._parser.remove_section(section)
        self._parser.add_section(section)
        for setting, value in settings.items():
            self._parser.set(section, setting, value)

    def remove(self, name: str) -> None:
        """It is not the current one any more either."""
        self._parser.remove_section(PREFIX + self.known(name))
        if self.current == name:
            self.current = None

    def save(self) -> None:
        """All of it, under the same name, at once; only its owner may read it: it has passwords."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = self.path.with_name(self.path.name + ".new")
        new.unlink(missing_ok=True)
        fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
        with os.fdopen(fd, "w", encoding="utf-8") as opened:
            self._parser.write(opened)
        new.replace(self.path)

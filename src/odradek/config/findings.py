"""What is wrong with settings, or only doubtful; all of it at once, and where it was written."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, NamedTuple

from odradek.config.setting import Setting
from odradek.model.errors import InvalidSetting

SHOWN_MAX: Final = 80  # characters of a wrong value in a sentence: enough to recognise it


class Given(NamedTuple):
    """A value as somebody wrote it, and where: `server.properties, line 7`."""

    text: str
    where: str
    written: str | None = None
    """What stands there, where the value itself came from a provider and must not be shown."""

    @property
    def shown(self) -> str:
        """What may be printed of it, if the setting is no secret."""
        return self.text if self.written is None else self.written


class Severity(Enum):
    """Whether the broker can start with it."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    """Worth knowing for somebody who checks a file; a broker that starts does not say it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One sentence about one or more settings."""

    severity: Severity
    names: tuple[str, ...]
    sentence: str
    why: str = ""
    """The end of the sentence, where several settings may share it."""

    def __str__(self) -> str:
        return self.sentence


def shown(name: str, given: Given, *, sensitive: bool = False) -> str:
    """`name=value (where)`, with long values cut short and secret ones left out."""
    text = "[hidden]" if sensitive else given.shown
    if len(text) > SHOWN_MAX:
        text = f"{text[:SHOWN_MAX]}... ({len(text)} characters)"
    printable = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return f"{name}={printable} ({given.where})"


def wrong_value(
    setting: Setting[Any], given: Given, clause: str, *, name: str | None = None
) -> Finding:
    """An error: no value for this setting, which one listener may call by a longer name."""
    called = name or setting.name
    named = shown(called, given, sensitive=setting.sensitive)
    return Finding(Severity.ERROR, (called,), f"{named}: {clause}")


def refuse(findings: Iterable[Finding]) -> None:
    """Raises for all the errors among the findings together; one line for each."""
    errors = [finding.sentence for finding in findings if finding.severity is Severity.ERROR]
    if errors:
        raise InvalidSetting("\n".join(errors))

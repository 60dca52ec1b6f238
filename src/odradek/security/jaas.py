r"""One entry of a JAAS configuration, as `sasl.jaas.config` holds it.

`org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";`

Only the login modules of Kafka are known, by the mechanism that each serves: no class of Java is
run here. Words may stand in quotation marks, with `\"` and `\\` inside.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from odradek.config.listeners import MECHANISMS, NOT_SPOKEN
from odradek.model.errors import InvalidSetting

PLAIN: Final = "PLAIN"
SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"
_CLASSES: Final = MappingProxyType(
    {
        PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
        SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
        SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
    }
)
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([;=])|([^\s;="]+))', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class LoginModule:
    """A login module and its options. Printing it shows no option's value."""

    __slots__ = ("name", "options")

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.name = name
        self.options = MappingProxyType(dict(options))

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, {sorted(self.options)})"

    @property
    def credentials(self) -> tuple[str, str] | None:
        """User and password under which this process logs in itself."""
        name, password = self.options.get("username"), self.options.get("password")
        return None if name is None or password is None else (name, password)

    @property
    def users(self) -> dict[str, str]:
        """For PLAIN: the users that a listener knows, and their passwords."""
        prefix = "user_"
        return {
            name.removeprefix(prefix): password
            for name, password in self.options.items()
            if name.startswith(prefix)
        }


def check_mechanism(mechanism: str, setting: str) -> None:
    """Refuses what is not spoken here."""
    if mechanism in MECHANISMS:
        return
    why = NOT_SPOKEN.get(mechanism, f"there is no such mechanism; {', '.join(MECHANISMS)} are")
    raise InvalidSetting(f"{setting}={mechanism[:40]}: {why}")


def parse_jaas(text: str, mechanism: str, setting: str) -> LoginModule:
    """The one entry of this setting; InvalidSetting says what is wrong with it."""
    words = _words(text, setting)
    if words[-1:] != [";"] or words.count(";") != 1:
        raise InvalidSetting(f"{setting}: must be one login module, its options, and a semicolon")
    name, *rest = words[:-1] or [""]
    if name != _CLASSES[mechanism]:
        raise InvalidSetting(
            f"{setting}: {mechanism} needs {_CLASSES[mechanism]}; classes of Java are not run here"
        )
    if not rest or rest[0].lower() not in _FLAGS:
        raise InvalidSetting(f"{setting}: behind the login module must stand required")
    return LoginModule(name, _options(rest[1:], setting))


def _options(words: list[str], setting: str) -> dict[str, str]:
    found = {}
    for at in range(0, len(words), 3):
        if words[at + 1 : at + 2] != ["="] or len(words) < at + 3:
            raise InvalidSetting(f"{setting}: an option must be name=value")
        found[words[at]] = words[at + 2]
    return found


def _words(text: str, setting: str) -> list[str]:
    found: list[str] = []
    position, end = 0, len(text.rstrip())
    while position < end:
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidSetting(f"{setting}: a quotation mark is not closed")
        quoted, mark, word = match.groups()
        found.append(mark or word or _ESCAPE.sub(r"\1", quoted or ""))
        position = match.end()
    return found

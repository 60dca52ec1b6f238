r"""One entry of a JAAS configuration, as `sasl.jaas.config` holds it.

`org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";`

Only the login modules of Kafka are known, by the mechanism that each serves: no class of Java is
run here. Words may stand in quotation marks, with `\"` and `\\` inside; `//` begins a comment.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from odradek.config.listeners import MECHANISMS, NOT_SPOKEN
from odradek.model.errors import InvalidSetting

PLAIN: Final = "PLAIN"
SCRAM_SHA_256: Final = "SCRAM-SHA-256"
SCRAM_SHA_512: Final = "SCRAM-SHA-512"
OAUTHBEARER: Final = "OAUTHBEARER"
CLASSES: Final = MappingProxyType(
    {
        PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
        SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
        SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
        OAUTHBEARER: "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule",
    }
)
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_TOKEN = re.compile(r'\s+|//[^\n]*|/\*.*?\*/|"((?:[^"\\]|\\.)*)"|([{};=]|[^\s;={}"]+)', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


class Word(NamedTuple):
    """A mark is one that does not stand in quotation marks."""

    text: str
    is_quoted: bool = False


SEMICOLON: Final = Word(";")
EQUALS: Final = Word("=")


class LoginModule:
    """A login module and its options. Printing it shows no option's value."""

    __slots__ = ("name", "options")

    def __init__(self, name: str, options: Mapping[str, str]) -> None:
        self.name = name
        self.options = MappingProxyType(dict(options))

    @property
    def text(self) -> str:
        """As `sasl.jaas.config` has it, secrets included."""
        marks = str.maketrans({'"': '\\"', "\\": "\\\\"})
        options = (f'"{name}"="{it.translate(marks)}"' for name, it in self.options.items())
        return f"{self.name} required {' '.join(options)};"

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
    entries = entries_of(words_of(text, setting))
    if len(entries) != 1:
        raise InvalidSetting(f"{setting}: must be one login module, its options, and a semicolon")
    name = entries[0][0].text
    if name != CLASSES[mechanism]:
        raise InvalidSetting(
            f"{setting}: {mechanism} needs {CLASSES[mechanism]}; classes of Java are not run here"
        )
    return LoginModule(name, options_of(entries[0], setting))


def entries_of(words: Sequence[Word]) -> list[list[Word]]:
    """The words of each login module; none where one does not end in a semicolon."""
    found: list[list[Word]] = [[]]
    for word in words:
        if word == SEMICOLON:
            found.append([])
        else:
            found[-1].append(word)
    return [] if found.pop() or not all(found) else found


def options_of(entry: Sequence[Word], where: str) -> dict[str, str]:
    """Of a login module, which must be required, as `name=value`."""
    flag, *options = entry[1:] or [EQUALS]
    if flag.text.lower() not in _FLAGS:
        raise InvalidSetting(f"{where}: behind the login module must stand required")
    found = {}
    for at in range(0, len(options), 3):
        if options[at + 1 : at + 2] != [EQUALS] or len(options) < at + 3:
            raise InvalidSetting(f"{where}: an option must be name=value")
        found[options[at].text] = options[at + 2].text
    return found


def words_of(text: str, where: str) -> list[Word]:
    """Without comments."""
    found: list[Word] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise InvalidSetting(f"{where}: a quotation mark is not closed")
        quoted, word = match.groups()
        if quoted is not None:
            found.append(Word(_ESCAPE.sub(r"\1", quoted), is_quoted=True))
        elif word:
            found.append(Word(word))
        position = match.end()
    return found

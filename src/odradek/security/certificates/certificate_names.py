r"""The name of a certificate, as Java writes it, and the principal that Kafka makes of it.

`X500Principal.getName()` is RFC 2253: the last relative name first, nine attributes by their
letters, all others by their number and the bytes of their value (`1.2.840.113549.1.9.1=#1612...`).
A name that Java writes oddly is written so here, too: rules of access were made for it.
`ssl.principal.mapping.rules` then turns it into a shorter name: `RULE:pattern/replacement/[LU]`,
the first that fits the whole name counts; `DEFAULT` takes the name as it is.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from odradek.model.errors import InvalidSetting
from odradek.security.certificates.der import Element, subject
from odradek.security.errors import AuthenticationFailed

SETTING: Final = "ssl.principal.mapping.rules"
KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_TEXTS: Final = frozenset({0x0C, 0x13, 0x14, 0x16, 0x1B, 0x1E})
"""Types of text. Java takes the bytes of each for UTF-8, and so has to be taken at its word."""
_SPECIAL = re.compile(r'([,=+<>#;"\\])')
_ENDS: Final = " \r"
_MARK = re.compile(r"\\(.)|\$([0-9]*)", re.DOTALL)
_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*")


def name_of(certificate: bytes) -> str:
    """The subject of a certificate (DER), as RFC 2253 and Java write it."""
    relatives = ["+".join(_pair(*it) for it in relative) for relative in subject(certificate)]
    return ",".join(reversed(relatives))


def _pair(number: str, value: Element) -> str:
    keyword = KEYWORDS.get(number)
    if keyword is None or value.tag not in _TEXTS:
        return f"{keyword or number}=#{value.whole.hex()}"
    return f"{keyword}={_escaped(value.content.decode('utf-8', 'replace'))}"


def _escaped(text: str) -> str:
    """Marks are written with a backslash, and so are spaces at both ends."""
    escaped = _SPECIAL.sub(r"\\\1", text).replace("\0", "\\00")
    inside = escaped.strip(_ENDS)
    before = len(escaped) - len(escaped.lstrip(_ENDS))
    after = before + len(inside)
    ends = ("".join(f"\\{it}" for it in part) for part in (escaped[:before], escaped[after:]))
    return inside.join(ends)


class Rule(NamedTuple):
    """One rule; without a pattern it is `DEFAULT`."""

    pattern: re.Pattern[str] | None = None
    replacement: tuple[str | int, ...] = ()  # texts, and numbers of groups
    case: str = ""

    def apply(self, name: str) -> str | None:
        """What it makes of a name; None if it does not fit.

        As with Kafka the whole name must fit, and then each place is replaced where the pattern is
        found: with a lazy group at its end these are smaller ones.
        """
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None:
            return None
        found = self.pattern.sub(self._replaced, name)
        return {"L": found.lower(), "U": found.upper()}.get(self.case, found)

    def _replaced(self, match: re.Match[str]) -> str:
        parts = (match[it] or "" if isinstance(it, int) else it for it in self.replacement)
        return "".join(parts)


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules in their order; InvalidSetting names the one that is none.

    With none at all no name fits, as with Kafka.
    """
    rules: list[Rule] = []
    position = 0
    while position < len(text):
        match = _RULE.match(text, position)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise InvalidSetting(f"{SETTING}: {text[position:][:80]!r} is no rule")
        rules.append(_rule(match))
        position = match.end() + 1
    return tuple(rules)


def _rule(match: re.Match[str]) -> Rule:
    if match[1]:
        return Rule()
    try:
        pattern = re.compile(match[2])
    except re.error as error:
        raise InvalidSetting(f"{SETTING}: {match[2][:80]!r}: {error}") from None
    return Rule(pattern, tuple(_replacement(match[3], pattern.groups)), match[4])


def _replacement(text: str, groups: int) -> Iterator[str | int]:
    """As Java reads it: a number goes on as long as there is such a group."""
    position = 0
    for match in _MARK.finditer(text):
        yield text[position : match.start()]
        position = match.end()
        if match[1]:
            yield match[1]
            continue
        digits = match[2]
        if not digits or int(digits[0]) > groups:
            raise InvalidSetting(f"{SETTING}: {text[:80]!r} names a group that is not there")
        size = next(it for it in range(len(digits), 0, -1) if it == 1 or int(digits[:it]) <= groups)
        yield int(digits[:size])
        yield digits[size:]
    yield text[position:]


def principal_name(certificate: bytes, rules: tuple[Rule, ...]) -> str:
    """The name by which a certificate's holder is known."""
    name = name_of(certificate)
    for rule in rules:
        if (found := rule.apply(name)) is not None:
            return found
    raise AuthenticationFailed(f"No rule of {SETTING} applies to {name}")

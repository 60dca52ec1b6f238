r"""The name of a certificate, as Java writes it, and the principal that Kafka makes of it.

`X500Principal.getName()` is RFC 2253: the last relative name first, nine attributes by their
letters, all others by their number and the bytes of their value (`1.2.840.113549.1.9.1=#1612...`).
`ssl.principal.mapping.rules` then turns it into a shorter name: `RULE:pattern/replacement/[LU]`,
the first that fits the whole name counts; `DEFAULT` takes the name as it is.
"""

import re
from typing import Final, NamedTuple

from odradek.model.errors import InvalidSetting
from odradek.security.der import Element, subject
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
_CHARSETS: Final = {0x0C: "utf-8", 0x13: "ascii", 0x14: "latin-1", 0x16: "ascii", 0x1E: "utf-16-be"}
_SPECIAL = re.compile(r'([,+"\\<>;=])')
_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*")


def name_of(certificate: bytes) -> str:
    """The subject of a certificate (DER), as RFC 2253 and Java write it."""
    relatives = ["+".join(_pair(*it) for it in relative) for relative in subject(certificate)]
    return ",".join(reversed(relatives))


def _pair(number: str, value: Element) -> str:
    keyword, charset = KEYWORDS.get(number), _CHARSETS.get(value.tag)
    if keyword is None or charset is None:
        return f"{keyword or number}=#{value.whole.hex()}"
    try:
        return f"{keyword}={_escaped(value.content.decode(charset))}"
    except UnicodeDecodeError:
        return f"{keyword}=#{value.whole.hex()}"


def _escaped(text: str) -> str:
    """Spaces at both ends and a `#` in front are written with a backslash, too."""
    inside = text.strip(" ")
    before = len(text) - len(text.lstrip(" ")) if inside else len(text)
    after = len(text) - before - len(inside)
    escaped = _SPECIAL.sub(r"\\\1", inside)
    if escaped.startswith("#") and not before:
        escaped = "\\" + escaped
    return "\\ " * before + escaped + "\\ " * after


class Rule(NamedTuple):
    """One rule; without a pattern it is `DEFAULT`."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""

    def apply(self, name: str) -> str | None:
        """What it makes of a name; None if it does not fit."""
        if self.pattern is None:
            return name
        match = self.pattern.fullmatch(name)
        if match is None:
            return None
        found = _DOLLAR.sub(lambda at: match[int(at[1])] or "", self.replacement)
        return {"L": found.lower(), "U": found.upper()}.get(self.case, found)


_DOLLAR = re.compile(r"\$([0-9])")


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules in their order; InvalidSetting names the one that is none."""
    rules: list[Rule] = []
    position = 0
    while position < len(text):
        match = _RULE.match(text, position)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise InvalidSetting(f"{SETTING}: {text[position:][:80]!r} is no rule")
        rules.append(_rule(match))
        position = match.end() + 1
    return tuple(rules) or (Rule(),)


def _rule(match: re.Match[str]) -> Rule:
    if match[1]:
        return Rule()
    try:
        pattern = re.compile(match[2])
    except re.error as error:
        raise InvalidSetting(f"{SETTING}: {match[2][:80]!r}: {error}") from None
    groups = [int(it) for it in _DOLLAR.findall(match[3])]
    if max(groups, default=0) > pattern.groups:
        raise InvalidSetting(f"{SETTING}: {match[3][:80]!r} names a group that is not there")
    return Rule(pattern, match[3], match[4])


def principal_name(certificate: bytes, rules: tuple[Rule, ...]) -> str:
    """The name by which a certificate's holder is known."""
    name = name_of(certificate)
    for rule in rules:
        if (found := rule.apply(name)) is not None:
            return found
    raise AuthenticationFailed(f"No rule of {SETTING} applies to {name}")

r"""Properties files in Java's format, with the line of each setting.

A line is `name=value`, `name: value` or `name value`. Lines that begin with `#` or `!` are
comments. A backslash at its end continues a line on the next, whose indentation does not count.
`\t`, `\n`, `\r`, `\f` and `\uXXXX` are escapes, any other character after a backslash is itself. Of
two lines with one name the later counts, as in Java.

Java reads files as ISO-8859-1; people write UTF-8. What is valid UTF-8 is read as such, anything
else as ISO-8859-1: what was typed is what counts. Stricter than Java, so that a file which was
named by mistake is refused: no control characters, no halves of a surrogate pair, no file of more
than a megabyte.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from odradek.config.findings import Finding, Severity
from odradek.model.errors import InvalidSetting
from odradek.model.units import MIB

FILE_BYTES_MAX: Final = MIB

_END_OF_LINE = re.compile(r"\r\n|\r|\n")
_BLANK: Final = " \t\f"
_NAME = re.compile(r"(?:[^\\=: \t\f]|\\.)*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u([0-9a-fA-F]{4})|u|.)", re.DOTALL)
_CONTROL = re.compile(r"[^\t\f -\x7e\x80-\U0010ffff]")
_PLAIN: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Entry(NamedTuple):
    """One setting of a file, and the line on which it begins, counted from 1."""

    name: str
    value: str
    line: int


class _BadEscape(ValueError):
    """An escape that stands for no character."""


def parse(data: bytes, file: str) -> tuple[tuple[Entry, ...], tuple[Finding, ...]]:
    """The settings in the order of the file, and the lines that are none."""
    if len(data) > FILE_BYTES_MAX:
        raise InvalidSetting(f"{file} is no settings file: it has more than {FILE_BYTES_MAX} bytes")
    entries: list[Entry] = []
    faults: list[Finding] = []
    for number, line in _logical_lines(_decode(data)):
        if control := _CONTROL.search(line):
            raise InvalidSetting(
                f"{file} is no settings file: line {number} holds the byte {ord(control[0]):#04x}"
            )
        try:
            name, value = _split(line)
        except _BadEscape as error:
            sentence = f"{file}, line {number}: {error}"
            faults.append(Finding(Severity.ERROR, (), sentence))
        else:
            entries.append(Entry(name, value, number))
    return tuple(entries), tuple(faults)


def _decode(data: bytes) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("iso-8859-1")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines without comments and blank ones, continuations joined, each with its first number."""
    joined, first = "", 0
    for number, natural in enumerate(_END_OF_LINE.split(text), start=1):
        line = natural.lstrip(_BLANK)
        if not joined:  # what goes on after a lone backslash begins anew, as in Java
            if not line or line[0] in "#!":
                continue
            first = number
        if (len(line) - len(line.rstrip("\\"))) % 2:
            joined += line[:-1]
            continue
        yield first, joined + line
        joined = ""
    if joined:
        yield first, joined


def _split(line: str) -> tuple[str, str]:
    name = _NAME.match(line)
    assert name is not None, "the pattern matches nothing, too"
    separator = _SEPARATOR.match(line, name.end())
    assert separator is not None, "likewise"
    return _unescape(name[0]), _unescape(line[separator.end() :])


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_character, text)
    try:  # Java counts in UTF-16: two escapes may be the halves of one character
        return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
    except UnicodeDecodeError:
        raise _BadEscape("an escape \\uXXXX is half of a character, without the other") from None


def _character(escape: re.Match[str]) -> str:
    if escape[2] is not None:
        return chr(int(escape[2], 16))
    if escape[1] == "u":
        raise _BadEscape("after \\u must follow four hexadecimal digits")
    return _PLAIN.get(escape[1], escape[1])

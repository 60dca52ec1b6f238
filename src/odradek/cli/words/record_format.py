r"""The format of `consume -f`, as kcat has it: `%` and a letter for a part of the record."""

from collections.abc import Callable
from typing import Final

from odradek.cli.words.escapes import escape
from odradek.cli.words.failing import MISUSED, Failed
from odradek.client.records.reader import Found

Part = Callable[[Found], bytes]


def _length(data: bytes | None) -> bytes:
    return b"%d" % (-1 if data is None else len(data))


def _headers(found: Found) -> bytes:
    return b",".join(name + b"=" + (value or b"") for name, value in found.record.headers)


PARTS: Final[dict[str, Part]] = {
    "t": lambda found: found.partition.topic.encode(),
    "p": lambda found: b"%d" % found.partition.partition,
    "o": lambda found: b"%d" % found.record.offset,
    "k": lambda found: found.record.key or b"",
    "s": lambda found: found.record.value or b"",
    "T": lambda found: b"%d" % found.record.timestamp,
    "h": _headers,
    "K": lambda found: _length(found.record.key),
    "S": lambda found: _length(found.record.value),
}


def printer_of(form: str) -> Callable[[Found], bytes]:
    """Refuses a letter that stands for nothing."""
    parts: list[bytes | Part] = []
    letters = iter(form)
    for letter in letters:
        if letter == "\\":
            parts.append(escape(letters, "--format"))
        elif letter != "%":
            parts.append(letter.encode())
        else:
            name = next(letters, "")
            if name != "%" and name not in PARTS:
                known = " ".join(f"%{it}" for it in PARTS)
                raise Failed(f"--format: %{name} stands for nothing", f"known: {known} %%", MISUSED)
            parts.append(b"%" if name == "%" else PARTS[name])

    def write(found: Found) -> bytes:
        return b"".join(part if isinstance(part, bytes) else part(found) for part in parts)

    return write

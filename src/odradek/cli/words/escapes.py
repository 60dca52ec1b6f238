r"""Backslash escapes in options: `\t`, `\n`, `\r`, `\0`, `\\`, `\xNN`."""

from collections.abc import Iterator
from typing import Final

from odradek.cli.words.failing import MISUSED, Failed

ESCAPES: Final = {"n": b"\n", "t": b"\t", "\\": b"\\", "r": b"\r", "0": b"\0"}


def escape(letters: Iterator[str], option: str) -> bytes:
    """What stands behind a backslash that was just read."""
    letter = next(letters, "")
    if letter == "x":
        digits = next(letters, "") + next(letters, "")
        try:
            return bytes.fromhex(digits)
        except ValueError:
            raise Failed(rf"{option}: \x{digits} is no byte", code=MISUSED) from None
    if letter not in ESCAPES:
        raise Failed(rf"{option}: \{letter} is no escape", r"known: \n \t \r \0 \\ \xNN", MISUSED)
    return ESCAPES[letter]


def unescaped(text: str, option: str) -> bytes:
    """The text's bytes."""
    out, letters = bytearray(), iter(text)
    for letter in letters:
        out += escape(letters, option) if letter == "\\" else letter.encode()
    return bytes(out)

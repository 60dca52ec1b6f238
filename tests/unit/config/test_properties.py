r"""Properties files are read as Java reads them, and what is none is refused with its line."""

import tracemalloc

import pytest

from odradek.config.findings import Severity
from odradek.config.properties import FILE_BYTES_MAX, Entry, parse
from odradek.model.errors import InvalidSetting


def entries(data: bytes) -> tuple[Entry, ...]:
    """The settings of a file with which nothing is wrong."""
    found, faults = parse(data, "server.properties")
    assert not faults
    return found


def read(text: str) -> list[tuple[str, str]]:
    """Names and values, without lines."""
    return [(entry.name, entry.value) for entry in entries(text.encode())]


@pytest.mark.parametrize(
    "line", ["a.b=c", "a.b = c", "a.b:c", "a.b : c", "a.b c", "  a.b\tc", "a.b\f=c", "\ta.b=\tc"]
)
def test_name_and_value_are_parted_in_many_ways(line: str) -> None:
    """Equals sign, colon or white space: Java takes all three, so files hold all three."""
    assert read(line) == [("a.b", "c")]


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("a", "a", ""),
        ("a=", "a", ""),
        ("=c", "", "c"),
        ("a==c", "a", "=c"),
        ("a=:c", "a", ":c"),
        ("a= b c ", "a", "b c "),
        ("a=b#c", "a", "b#c"),
        ("listeners=PLAINTEXT://:9092", "listeners", "PLAINTEXT://:9092"),
    ],
)
def test_only_the_first_separator_parts_them(line: str, name: str, value: str) -> None:
    """The rest of the line is the value, with what it ends in."""
    assert read(line) == [(name, value)]


def test_comments_and_blank_lines_say_nothing() -> None:
    """A comment begins its line; behind a value the same sign is part of the value."""
    assert read("# a=b\n! a=b\n\n  \t\n   # a=b\\\nc=d") == [("c", "d")]


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_end_as_on_any_system(end: str) -> None:
    """Files come from Windows, too; other separators of Unicode are part of a value."""
    assert read(f"a=b{end}c=d\x85e{end}") == [("a", "b"), ("c", "d\x85e")]


def test_a_line_goes_on_after_a_backslash() -> None:
    """The indentation of the next line does not count, and what looks like a comment is none."""
    assert read("log.dirs=/a,\\\n    /b,\\\r\n\t/c") == [("log.dirs", "/a,/b,/c")]
    assert read("a=b\\\n#c") == [("a", "b#c")]
    assert read("a=b\\\\\nc=d") == [("a", "b\\"), ("c", "d")]
    assert read("a=b\\\n\nc=d") == [("a", "b"), ("c", "d")]
    assert read("a=b\\") == [("a", "b")]
    assert read("\\\n\n# a\n\\") == []


def test_escapes_are_javas() -> None:
    """White space and separators can be part of a name, and any character be written in ASCII."""
    assert read(r"a\ b\=c\:d=e") == [("a b=c:d", "e")]
    assert read(r"a=\t\n\r\f\b\\") == [("a", "\t\n\r\fb\\")]
    assert read(r"a=\u00e4\u20AC") == [("a", "ä€")]
    assert read(r"a=\ud83d\ude00") == [("a", "😀")]


@pytest.mark.parametrize("escape", ["\\u12", "\\u12g4", "\\u", "\\uD83D", "\\uDE00x"])
def test_a_bad_escape_names_its_line(escape: str) -> None:
    """What stands for no character is refused, and all such lines at once."""
    file = f"# one\na=b\nc={escape}\nd=e\nf={escape}"
    found, (first, second) = parse(file.encode(), "server.properties")
    assert [entry.name for entry in found] == ["a", "d"]
    assert str(first).startswith("server.properties, line 3: ")
    assert str(second).startswith("server.properties, line 5: ")
    assert first.severity is Severity.ERROR


def test_entries_know_the_line_on_which_they_begin() -> None:
    """Comments, blank lines and continued lines count."""
    text = b"# one\n\na=b\\\n  c\n\nd=e\na=f\n"
    assert entries(text) == (Entry("a", "bc", 3), Entry("d", "e", 6), Entry("a", "f", 7))


def test_what_was_typed_is_what_counts() -> None:
    """UTF-8, with or without a mark in front, is read as such, and ISO-8859-1 as Java reads it."""
    for data in ("a=größe".encode(), "\ufeffa=größe".encode(), "a=größe".encode("iso-8859-1")):
        assert entries(data) == (Entry("a", "größe", 1),)


@pytest.mark.parametrize(
    "garbage",
    [b"\x7fELF\x02\x01\x01\x00\x00", b"\x1f\x8b\x08\x00abc", b"a=b\nc=\x00\n", b"a\x1b=b"],
)
def test_a_file_that_is_none_is_refused(garbage: bytes) -> None:
    """Somebody who names the wrong file is told so, not that a thousand settings are unknown."""
    with pytest.raises(InvalidSetting, match=r"f is no settings file: line \d holds the byte 0x"):
        parse(garbage, "f")


def test_a_huge_file_costs_nothing() -> None:
    """A line of ten megabytes is refused before it is looked at."""
    huge = b"a=" + b"x" * (10 << 20)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidSetting, match=f"more than {FILE_BYTES_MAX} bytes"):
            parse(huge, "f")
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("filler", [" ", "\\", "\\ ", "=", "\\u0061", "a\\\n", "\\\n", "#"])
def test_no_file_takes_long_to_read(filler: str) -> None:
    """What is not linear in the length of a line would never end here."""
    half = filler * (FILE_BYTES_MAX // len(filler) // 2)
    parse(f"{half}a".encode(), "f")
    parse(f"a={half}a".encode(), "f")


def test_the_largest_file_is_read() -> None:
    """One line of a megabyte is a value like any other."""
    (entry,) = entries(b"a=" + b"x" * (FILE_BYTES_MAX - 2))
    assert len(entry.value) == FILE_BYTES_MAX - 2

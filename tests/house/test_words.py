"""What no file of the repository may contain."""

import re

import pytest

from tests.house import tree

# Taken apart, so that this file does not hold what it forbids.
LEFTOVERS = ("TO" + "DO", "FIX" + "ME", "X" * 3)
MACHINE_FOLDERS = ("work", "tmp", "root", "home")
INDEX_HOSTS = (
    ("pypi", "org"),
    ("pythonhosted", "org"),
    ("maven", "org/maven2"),
    ("repo.maven", "apache"),
    ("registry", "npmjs"),
    ("crates", "io/"),
    ("proxy", "golang"),
    ("deb", "debian"),
)
FORBIDDEN = {
    "a place on somebody's machine": rf"(?<![\w./}}>)])/({'|'.join(MACHINE_FOLDERS)})(?![\w-])",
    "the address of a package index": "|".join(rf"\b{a}\.{b}" for a, b in INDEX_HOSTS),
    "a leftover: finish it, or write down the regret": rf"\b({'|'.join(LEFTOVERS)})\b",
    "a tab": "\t",
    "a carriage return": "\r",
    "a blank at a line's end": r"[ \t]+$",
    "a blank line at the end": r"\n\n\Z",
    "no line end at the end": r"[^\n]\Z",
}
TEXTS = (".md", ".py", ".pyi", ".toml", ".txt", ".json", ".xml", ".java", ".properties", ".html")
SCRIPTS = ("dev", ".ci/run", ".editorconfig", ".gitignore")


@pytest.mark.parametrize("meaning", FORBIDDEN)
def test_no_file_holds(meaning: str) -> None:
    """What works on one machine only, or was left for later, is not for others to find."""
    pattern = re.compile(FORBIDDEN[meaning], re.MULTILINE)
    found = [
        f"{tree.name(path)}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}"
        for path in tree.files(*TEXTS, *SCRIPTS)
        for text in [tree.text(path)]
        for match in pattern.finditer(text)
    ]
    assert not found

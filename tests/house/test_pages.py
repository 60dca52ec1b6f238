"""What a page promises to list is listed, whole."""

import re

from odradek.wire.apis import APIS
from tests.house import tree


def test_the_compatibility_page_lists_every_api() -> None:
    """Whoever asks whether their client will work looks there, by the name or by the number."""
    page = tree.text(tree.ROOT / "docs" / "compatibility.md")
    listed = set(re.findall(r"^\| (\d+) \| (\w+) \|", page, re.MULTILINE))
    assert listed == {(str(api.key), api.name) for api in APIS.values()}


def test_no_page_holds_both_sides_of_a_merge() -> None:
    """What was left between the marks would be read as two rules."""
    sides = re.compile(r"^(<{7}|>{7}) ", re.MULTILINE)
    assert not [tree.name(path) for path in tree.files(".md") if sides.search(tree.text(path))]

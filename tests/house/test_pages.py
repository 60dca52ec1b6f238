"""What a page promises to list is listed, whole."""

import re

from odradek.wire.apis import APIS
from tests.house import tree


def test_the_compatibility_page_lists_every_api() -> None:
    """Whoever asks whether their client will work looks there, by the name or by the number."""
    page = tree.text(tree.ROOT / "docs" / "compatibility.md")
    listed = set(re.findall(r"^\| (\d+) \| (\w+) \|", page, re.MULTILINE))
    assert listed == {(str(api.key), api.name) for api in APIS.values()}

"""A link to a file of the tree leads somewhere, and so does one to a heading."""

import re
from pathlib import Path
from urllib.parse import unquote

from tests.house import tree

LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def headings(path: Path) -> set[str]:
    """The names by which a page's headings can be linked to."""
    found = HEADING.findall(FENCE.sub("", tree.text(path)))
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in found}


def broken(path: Path, link: str) -> bool:
    """Whether a link that stands in this page leads nowhere in the tree."""
    if re.match(r"[a-z]+:", link):
        return False
    file, _, heading = unquote(link).partition("#")
    target = (path.parent / file).resolve() if file else path
    if not target.exists() or not target.is_relative_to(tree.ROOT):
        return True
    return bool(heading) and target.suffix == ".md" and heading not in headings(target)


def test_links_lead_somewhere() -> None:
    """A page that moved takes those who point at it along."""
    assert not [
        f"{tree.name(path)}: {link}"
        for path in tree.files(".md")
        for link in LINK.findall(FENCE.sub("", tree.text(path)))
        if broken(path, link)
    ]

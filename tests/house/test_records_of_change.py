"""What was decided can be found in `docs/adr`, and what changed in `changelog.d`."""

import re

from tests.house import tree

ADR = tree.ROOT / "docs" / "adr"
CHANGELOG = tree.ROOT / "changelog.d"
FRAGMENT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*\.(added|changed|fixed|removed|security)\.md")
PARAGRAPH_LINES_MAX = 8


def test_decisions_are_numbered_without_holes() -> None:
    """A hole would be a decision that somebody took away."""
    numbers = [int(path.name[:4]) for path in sorted(ADR.glob("[0-9]*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_decision_is_titled_and_in_the_index() -> None:
    """The index is how a newcomer finds them, and it calls each by its own title."""
    index = tree.text(ADR / "README.md")
    for path in sorted(ADR.glob("[0-9]*.md")):
        title = tree.text(path).splitlines()[0]
        assert title.startswith(f"# {int(path.name[:4])}. "), f"{path.name} begins with {title!r}"
        assert f"| [{path.name[:4]}]({path.name}) |" in index, f"{path.name} is not in the index"


def test_a_changelog_fragment_is_one_short_paragraph_of_a_known_kind() -> None:
    """They are gathered by program at a release, and read by people who are in a hurry."""
    for path in sorted(CHANGELOG.iterdir()):
        if path.name == "README.md":
            continue
        assert FRAGMENT.fullmatch(path.name), f"{path.name} is no <words>.<kind>.md"
        text = tree.text(path).strip()
        assert text.endswith("."), f"{path.name} is not in sentences"
        assert "\n\n" not in text, f"{path.name} has more than one paragraph"
        assert text.count("\n") < PARAGRAPH_LINES_MAX, f"{path.name} is long"

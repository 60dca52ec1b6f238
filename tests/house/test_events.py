"""Every event that a broker can write has its line in docs/events.md, with what to do."""

import re

from tests.house import tree

CALL = re.compile(
    r"\b(?:debug|info|warning|error|told|Note|lines\.info|lines\.error)\(\s*\"([a-z_]+\.[a-z_]+)\""
)
ROW = re.compile(
    r"^\| (`[^|]+) \| (debug|info|warning|error) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE
)
PLACES = ("broker", "controller", "ensemble", "peers", "replication", "runtime", "storage")


def events_of_the_code() -> set[str]:
    """By what stands in the calls."""
    return {
        name
        for place in PLACES
        for path in (tree.ROOT / "src" / "odradek" / place).rglob("*.py")
        for name in CALL.findall(tree.text(path))
    }


def test_every_event_is_explained() -> None:
    """An operator who meets a name at night finds it, and what to do."""
    rows = ROW.findall(tree.text(tree.ROOT / "docs" / "events.md"))
    explained = {name for names, *_ in rows for name in re.findall(r"`([^`]+)`", names)}
    code = events_of_the_code()
    assert len(code) > 60
    assert not code - explained, "not explained"


def test_no_event_is_explained_twice() -> None:
    """The two would come to say different things."""
    rows = ROW.findall(tree.text(tree.ROOT / "docs" / "events.md"))
    names = [name for names, *_ in rows for name in re.findall(r"`([^`]+)`", names)]
    assert not {name for name in names if names.count(name) > 1}

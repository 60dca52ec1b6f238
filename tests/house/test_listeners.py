"""docs/listeners.md names each event of the broker's parts, and as many listeners as there are."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from tests.house import tree

EVENT: Final = re.compile(r"on_[a-z_]+|[a-z_]*watchers")
CALLBACK: Final = re.compile(r"(on|new|wanted|read)_[a-z_]+|local")
ROW: Final = re.compile(r"^\| `(\w+)\.(\w+)` \| [^|]+ \| (.+) \|$", re.MULTILINE)
LISTENER: Final = re.compile(r"`\w+\.\w+`")


def classes() -> Iterator[ast.ClassDef]:
    """Of the broker, and of the storage below it."""
    for path in tree.files(".py"):
        if tree.name(path).startswith(("src/odradek/broker/", "src/odradek/storage/")):
            yield from (it for it in ast.walk(tree.parsed(path)) if isinstance(it, ast.ClassDef))


def events(owner: ast.ClassDef) -> Iterator[str]:
    """Attributes that hold who listens: one callback, or a list."""
    for node in ast.walk(owner):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            found, kind = node.target, ast.unparse(node.annotation)
            if EVENT.fullmatch(found.attr) and not kind.startswith("dict"):
                yield found.attr


def listened_to(node: ast.AST) -> tuple[str, int]:
    """The event for which a statement adds so many listeners."""
    target, count = None, 1
    if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant | ast.Tuple):
        (target, *_) = node.targets
    elif isinstance(node, ast.AugAssign) and isinstance(node.value, ast.List):
        target, count = node.target, len(node.value.elts)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        target = node.func.value if node.func.attr in {"append", "insert"} else None
    if isinstance(target, ast.Attribute) and EVENT.fullmatch(target.attr):
        return target.attr, count
    return "", 0


def is_own(node: ast.AST) -> bool:
    """A part that sets its own callback waits for one; `no_listener` ends one."""
    if not isinstance(node, ast.Assign):
        return False
    to, what = ast.unparse(node.targets[0]), ast.unparse(node.value)
    return to.startswith("self.on_") or what == "no_listener"


def rows() -> dict[tuple[str, str], list[str]]:
    """Of the page: who hears, by part and event."""
    text = tree.text(tree.ROOT / "docs" / "listeners.md")
    return {(part, event): LISTENER.findall(who) for part, event, who in ROW.findall(text)}


def test_each_event_has_its_row() -> None:
    """And no row is of one that is gone."""
    there = {(owner.name, event) for owner in classes() for event in events(owner)}
    assert there == set(rows())


def test_each_row_names_as_many_as_listen() -> None:
    """Who adds a listener says at which place it is told."""
    added: Counter[str] = Counter()
    for owner in classes():
        for node in ast.walk(owner):
            if not is_own(node):
                event, count = listened_to(node)
                added[event] += count
    named: Counter[str] = Counter()
    for (_, event), listeners in rows().items():
        named[event] += len(listeners)
    assert +added == +named


def test_each_listener_that_is_named_is_there() -> None:
    """A method that is renamed takes its name along."""
    methods = {
        f"`{owner.name}.{method.name}`"
        for owner in classes()
        for method in ast.walk(owner)
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert not {it for listeners in rows().values() for it in listeners} - methods


LATE: Final = frozenset(
    {
        "appends.on_full",
        "controlling.standing_by.on_awaited",
        "coordination.on_tree_changed",
        "coordination.on_watch",
        "full_disks.on_room",
        "own.markers.on_marked",
        "replicas.logs.on_corrupt_file",
        "replicas.logs.wanted_room",
        "self._rules.on_changed",
        "self.dirs.failures.on_failed",
    }
)
"""Left over: who hears is made later, of the part that tells. The list only becomes shorter."""


def test_no_other_callback_is_set_on_a_part_from_outside() -> None:
    """It is handed over when the part is made, or when it is started."""
    late = {
        ast.unparse(target)
        for owner in classes()
        for node in ast.walk(owner)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Attribute | ast.Name)
        if CALLBACK.fullmatch(target.attr) and ast.unparse(target.value) != "self"
    }
    assert late == LATE

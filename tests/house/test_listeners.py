"""Who hears what stands in one table, `broker/listeners.py`; docs/listeners.md says the same."""

import ast
import re
from collections.abc import Iterator
from typing import Final

from tests.house import tree

EVENT: Final = re.compile(r"on_[a-z_]+|[a-z_]*watchers")
CALLBACK: Final = re.compile(r"(on|new|wanted|read)_[a-z_]+|local")
ROW: Final = re.compile(r"^\| `(\w+)\.(\w+)` \| [^|]+ \| (.+) \|$", re.MULTILINE)
LISTENER: Final = re.compile(r"`(\w+)\.(\w+)`")
TABLE: Final = tree.ROOT / "src/odradek/broker/listeners.py"
ELSEWHERE: Final = {
    "self.dirs.failures.on_failed": "one of the broker's threads may tell, from `open` to `close`",
    "replica.watchers": "a leader that lacks records is whole once it has committed behind them",
    "led.watchers": "a coordinator hears of its own partitions, as long as they are led",
}
"""Lists that others fill, while the broker runs."""

Named = tuple[str, str]
"""A class, and its method or event."""


def files() -> Iterator[ast.Module]:
    """Of the broker, and of the storage below it."""
    for path in tree.files(".py"):
        if tree.name(path).startswith(("src/odradek/broker/", "src/odradek/storage/")):
            yield tree.parsed(path)


def classes() -> Iterator[ast.ClassDef]:
    """Of those files."""
    for file in files():
        yield from (it for it in ast.walk(file) if isinstance(it, ast.ClassDef))


def events(owner: ast.ClassDef) -> Iterator[str]:
    """Attributes that hold who listens."""
    for node in ast.walk(owner):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Attribute):
            found, kind = node.target, ast.unparse(node.annotation)
            if EVENT.fullmatch(found.attr) and not kind.startswith("dict"):
                yield found.attr


def rows() -> dict[Named, list[Named]]:
    """Of the page: who hears, by part and event."""
    text = tree.text(tree.ROOT / "docs" / "listeners.md")
    return {(part, event): LISTENER.findall(who) for part, event, who in ROW.findall(text)}


def made_as() -> dict[str, set[str]]:
    """Of which class a part is that is called so: `self.name = Class(…)`, or `name: Class`."""
    found: dict[str, set[str]] = {"on_settings": {"Broker"}, "on_dir_failed": {"Broker"}}
    for owner in classes():
        for node in ast.walk(owner):
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call | ast.IfExp):
                for name in map(last_name, node.targets):
                    made = re.findall(r"\b_?[A-Z]\w+(?=\()", ast.unparse(node.value))
                    found.setdefault(name, set()).update(made)
            elif isinstance(node, ast.AnnAssign):
                kinds = re.findall(r"\w+", ast.unparse(node.annotation))
                found.setdefault(last_name(node.target), set()).update(kinds)
    return found


def last_name(node: ast.AST) -> str:
    """`a.b.c`: c."""
    return ast.unparse(node).rpartition(".")[2]


def called(node: ast.expr) -> ast.expr:
    """What a row of the table has called."""
    if isinstance(node, ast.Lambda) and isinstance(node.body, ast.Call):
        return node.body.func
    return node.args[0] if isinstance(node, ast.Call) else node


def table() -> dict[str, list[ast.expr]]:
    """Of the code: who hears, by part and event."""
    found: dict[str, list[ast.expr]] = {}
    added = (it for it in ast.walk(tree.parsed(TABLE)) if isinstance(it, ast.AugAssign))
    for node in sorted(added, key=lambda it: it.lineno):
        if isinstance(node.value, ast.List):
            name = ".".join(ast.unparse(node.target).split(".")[-2:])
            found.setdefault(name, []).extend(map(called, node.value.elts))
    return found


def test_each_event_has_its_row() -> None:
    """And no row is of one that is gone."""
    there = {(owner.name, event) for owner in classes() for event in events(owner)}
    assert there == set(rows())


def test_the_page_says_what_the_table_says() -> None:
    """Event by event, and the listeners in their order."""
    made, told = made_as(), {event: it for (_, event), it in rows().items()}
    for (part, event), who in rows().items():
        if part in made.get("cluster", ()):
            told[event] = who
    heard = table()
    assert heard
    for name, listeners in heard.items():
        event = name.rpartition(".")[2]
        assert len(listeners) == len(told[event]), name
        for listener, (owner, method) in zip(listeners, told[event], strict=True):
            part, _, found = ast.unparse(listener).rpartition(".")
            assert found == method.removeprefix("_" if not part else ""), (name, found, method)
            assert owner in made[last_name(ast.parse(part or found, mode="eval").body)], name


def test_each_row_of_the_page_is_in_the_table() -> None:
    """But for those that are filled while the broker runs."""
    heard = {name.rpartition(".")[2] for name in table()}
    assert {event for _, event in rows()} - heard == {"on_failed", "on_gone"}


def test_each_listener_that_is_named_is_there() -> None:
    """A method that is renamed takes its name along."""
    methods: dict[str, set[str]] = {}
    above: dict[str, list[str]] = {}
    for owner in classes():
        above[owner.name] = [ast.unparse(it).partition("[")[0] for it in owner.bases]
        methods.setdefault(owner.name, set()).update(
            it.name for it in owner.body if isinstance(it, ast.FunctionDef | ast.AsyncFunctionDef)
        )
    for owner_name, method in (it for listeners in rows().values() for it in listeners):
        owners = [owner_name, *above[owner_name]]
        assert any(method in methods.get(it, ()) for it in owners), f"{owner_name}.{method}"


def test_no_part_hangs_itself_on_another() -> None:
    """Who listens stands in the table, in the order in which all are told."""
    found: set[str] = set()
    for file in files():
        for node in ast.walk(file) if file is not tree.parsed(TABLE) else ():
            target: ast.AST | None = None
            if isinstance(node, ast.AugAssign):
                target = node.target
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                target = node.func.value if node.func.attr in {"append", "insert"} else None
            if isinstance(target, ast.Attribute) and EVENT.fullmatch(target.attr):
                found.add(ast.unparse(target))
    assert found == set(ELSEWHERE)


def test_no_callback_is_set_on_a_part_from_outside() -> None:
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
    assert late <= {"pending.on_gone"}

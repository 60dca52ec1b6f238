"""Whoever reads a module or a function should be able to hold it in mind."""

import ast

from tests.house import tree

MODULE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
GENERATED = tree.ROOT / "src" / "odradek" / "wire" / "messages"


def test_no_module_is_longer_than_a_reader() -> None:
    """A module that needs more lines holds two things; look for the seam at 400."""
    lengths = {
        tree.name(path): tree.text(path).count("\n")
        for path in tree.files(".py", "dev", ".ci/run")
        if GENERATED not in path.parents
    }
    assert not {name: lines for name, lines in lengths.items() if lines > MODULE_LINES_MAX}


def test_no_function_is_longer_than_a_screen() -> None:
    """The limit is for the rare table of branches; the rule is about ten lines."""
    long = [
        f"{tree.name(path)}:{node.lineno} {node.name}"
        for path in tree.files(".py")
        if GENERATED not in path.parents
        for node in ast.walk(tree.parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES_MAX
    ]
    assert not long

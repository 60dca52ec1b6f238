"""What Python itself does otherwise in versions that we promise to run on."""

import ast

from tests.house import tree


def test_nothing_is_raised_within_except_star() -> None:
    """Python before 3.11.4, Debian 12's among them, wraps it in a group that nobody expects."""
    assert not [
        f"{tree.name(path)}:{node.lineno}"
        for path in tree.files(".py")
        for block in ast.walk(tree.parsed(path))
        if isinstance(block, ast.TryStar)
        for handler in block.handlers
        for node in ast.walk(handler)
        if isinstance(node, ast.Raise) and node.exc is not None
    ]

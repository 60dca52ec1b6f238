"""Every module says why it is there, and every test what it teaches."""

import ast

from tests.house import tree

WORDS_MIN = 5


def words(node: ast.Module | ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How long the docstring is."""
    return len((ast.get_docstring(node) or "").split())


def test_every_module_opens_with_what_it_is_for() -> None:
    """A file that holds code holds a sentence that its reader can begin with."""
    assert not [
        tree.name(path)
        for path in tree.files(".py")
        if tree.parsed(path).body and words(tree.parsed(path)) < WORDS_MIN
    ]


def test_every_test_states_its_lesson() -> None:
    """When it fails, the docstring tells a stranger what was promised."""
    assert not [
        f"{tree.name(path)}:{node.lineno} {node.name}"
        for path in tree.files(".py")
        if path.name.startswith("test_")
        for node in ast.walk(tree.parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        and words(node) < WORDS_MIN
    ]

"""The rule of paths, held against what ZooKeeper takes and refuses."""

import pytest

from odradek.zookeeper.protocol.paths import parent_of, path_fault


@pytest.mark.parametrize(
    "path", ["/", "/a", "/a/b.c", "/a/..b", "/a/b..", "/...", "/ä/日本", "/a b"]
)
def test_legal_paths(path: str) -> None:
    """Dots are only special when they are all that there is of a part."""
    assert path_fault(path) is None


@pytest.mark.parametrize(
    "path",
    [
        "",
        "a",
        "/a/",
        "//",
        "/a//b",
        "/.",
        "/..",
        "/a/./b",
        "/a/../b",
        "/a/..",
        "/a\0",
        "/a\x1f",
        "/a\x7f",
        "/a\x9f",
        "/\ue000",
        "/\ufff0",
        "/\U0001f600",
    ],
)
def test_illegal_paths(path: str) -> None:
    """Empty parts, relative parts, control characters and private code points are refused."""
    assert path_fault(path) is not None


def test_the_parent_of_a_path() -> None:
    """The root is the parent of what stands directly below it."""
    assert (parent_of("/a"), parent_of("/a/b")) == ("/", "/a")

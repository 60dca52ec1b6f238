"""Who needs whom in the package: modules and rooms can be put in an order, and read in it."""

from functools import cache
from graphlib import CycleError, TopologicalSorter

import grimp

from tests.house import tree

ROOMS = tuple(
    f"odradek.{path.parent.name}"
    for path in tree.files("__init__.py")
    if tree.name(path.parent.parent) == "src/odradek"
)
"""Every package; `docs/architecture.md` draws the rooms of those that have any."""


@cache
def graph() -> grimp.ImportGraph:
    """Every import, those for types alone included."""
    return grimp.build_graph("odradek", exclude_type_checking_imports=False)


def order(needs: dict[str, set[str]]) -> list[str]:
    """From those that need nothing to those that nothing needs."""
    try:
        return list(TopologicalSorter(needs).static_order())
    except CycleError as error:
        raise AssertionError(" -> ".join(error.args[1])) from None


def test_no_module_needs_itself_by_way_of_others() -> None:
    """Not even for a type: a circle is one large module that was cut in the wrong places."""
    imports = graph()
    order({name: imports.find_modules_directly_imported_by(name) for name in imports.modules})


def test_no_room_needs_itself_by_way_of_others() -> None:
    """A newcomer reads the rooms in one order, the first without knowing the last."""
    imports = graph()
    for package in ROOMS:
        needs: dict[str, set[str]] = {}
        for name in sorted(imports.modules):
            room = room_of(name, package)
            if room is None:
                continue
            needs.setdefault(room, set())
            for needed in imports.find_modules_directly_imported_by(name):
                other = room_of(needed, package)
                if other is not None and other != room:
                    needs[room].add(other)
        order(needs)


def room_of(name: str, package: str) -> str | None:
    """The room that a module stands in; a module of the package itself is a room of its own."""
    if not name.startswith(f"{package}."):
        return None
    return name[len(package) + 1 :].split(".", maxsplit=1)[0]


def test_a_room_says_in_a_sentence_what_happens_in_it() -> None:
    """Its name is not enough for who looks for something."""
    silent = [
        tree.name(path)
        for path in tree.files("__init__.py")
        if tree.name(path).startswith("src/odradek/")
        and not tree.text(path).lstrip().startswith('"""')
    ]
    assert not silent

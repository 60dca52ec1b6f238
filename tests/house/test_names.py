"""A name says what is inside."""

from tests.house import tree

SAY_NOTHING = {"base", "common", "core", "helper", "helpers", "misc", "shared", "util", "utils"}


def test_no_module_is_a_drawer_for_the_rest() -> None:
    """`utils` and its kin gather whatever had no name, and everybody comes to import them."""
    named = {part for path in tree.files(".py") for part in tree.name(path)[:-3].split("/")}
    assert not sorted(named & SAY_NOTHING)


def test_unit_tests_mirror_the_source() -> None:
    """Whoever changes a package knows where its tests are; those of no package lie beside them."""
    packages = {path.parent.name for path in tree.files("/__init__.py")}
    unit = tree.ROOT / "tests" / "unit"
    folders = {path.parent.name for path in tree.files(".py") if unit in path.parents}
    assert not folders - packages - {unit.name}


def test_test_folders_are_no_packages() -> None:
    """With an `__init__.py` among them two files of one name would shadow each other."""
    tests = tree.ROOT / "tests"
    assert not [path for path in tree.files("/__init__.py") if tests in path.parents]

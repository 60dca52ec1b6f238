"""The documentation of settings is the table, and the table the documentation."""

import ast
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

from codegen import configuration
from odradek.config.rows import topic
from odradek.config.setting import Setting
from odradek.config.table import BROKER_SETTINGS, SUBJECTS, TOPIC_SETTINGS
from tests.house import tree

PAGE = tree.ROOT / configuration.PATH
MODULES = (*(module for _, module in SUBJECTS), topic)


def test_the_page_is_what_the_table_says() -> None:
    """Whoever changes a row runs `./dev fix`, or else the page would lie."""
    assert tree.text(PAGE) == configuration.render(), "./dev fix writes it anew"


def test_every_setting_has_its_line() -> None:
    """A row that no subject lists would be read from files, and be found by nobody."""
    for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()):
        assert f"\n| `{row.name}`<br>" in tree.text(PAGE), row.name


A_CHECK_IS_ALL = {
    "admin.listener.open",
    "broker.id.generation.enable",
    "remote.log.storage.system.enable",
    "remote.storage.enable",
    "sasl.server.callback.handler.class",
    "zookeeper.ssl.crl.enable",
    "zookeeper.ssl.ocsp.enable",
}
"""What they change is whether a file is refused or doubted."""
BY_ITS_TEXT = {"zookeeper.ssl.protocol"}  # with all that begins with zookeeper.
NO_READER = ("config/rows/", "config/checks.py", "config/table.py", "config/sources.py")


def test_what_no_code_reads_has_no_effect() -> None:
    """A row that only stands in the table would be tuned for nothing, and `check` be silent."""
    source = tree.ROOT / "src" / "odradek"
    mentioned: set[str] = set()
    for path in tree.files(".py"):
        if path.is_relative_to(source) and not (
            path.relative_to(source).as_posix().startswith(NO_READER)
        ):
            mentioned.update(_mentioned(path))
    read = {name for module in MODULES for name in _read(module, mentioned)}
    for setting in TOPIC_SETTINGS.values():
        if setting.name in read and not setting.inert:
            read |= {row.name for row in setting.inherits}
    rows = (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values())
    unread = {row.name for row in rows if not row.inert} - read
    assert unread == A_CHECK_IS_ALL | BY_ITS_TEXT


def _mentioned(path: Path) -> Iterator[str]:
    """Every name and every text of a file."""
    for node in ast.walk(tree.parsed(path)):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(value=str(name)):
                yield name


def _read(module: ModuleType, mentioned: set[str]) -> Iterator[str]:
    """The settings that are mentioned, by themselves or in a group of them."""
    for name, value in vars(module).items():
        for row in value if isinstance(value, tuple) else (value,):
            if isinstance(row, Setting) and mentioned & {name, row.name}:
                yield row.name

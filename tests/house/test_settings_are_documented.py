"""The documentation of settings is the table, and the table the documentation."""

from codegen import configuration
from odradek.config.table import BROKER_SETTINGS, TOPIC_SETTINGS
from tests.house import tree

PAGE = tree.ROOT / configuration.PATH


def test_the_page_is_what_the_table_says() -> None:
    """Whoever changes a row runs `./dev fix`, or else the page would lie."""
    assert tree.text(PAGE) == configuration.render(), "./dev fix writes it anew"


def test_every_setting_has_its_line() -> None:
    """A row that no subject lists would be read from files, and be found by nobody."""
    for row in (*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()):
        assert f"\n| `{row.name}`<br>" in tree.text(PAGE), row.name

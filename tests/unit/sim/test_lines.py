"""Which lines ran, and which did not."""

from pathlib import Path

from odradek.model.names import topic_name_fault
from odradek.sim import report
from odradek.sim.lines import LinesSeen, functions, lines_of, never_ran, pure_files
from odradek.sim.simulation import Outcome

FILE = "model/names.py"


def test_a_line_is_seen_when_it_runs_and_told_once() -> None:
    """Only those of the pure packages, and only while somebody looks."""
    seen = LinesSeen()
    topic_name_fault("before")
    with seen:
        topic_name_fault("orders")
    some = seen.take()
    assert set(some) == {FILE}
    assert set(some[FILE]) < lines_of(FILE)
    with seen:
        topic_name_fault("orders")
        topic_name_fault("..")
    more = seen.take()
    assert more[FILE]
    assert not set(more[FILE]) & set(some[FILE])
    missing = never_ran({FILE: [*some[FILE], *more[FILE]]})
    assert set(missing) == set(pure_files())
    assert not set(missing[FILE]) & {*some[FILE], *more[FILE]}


def test_only_lines_of_functions_count(tmp_path: Path) -> None:
    """What runs while a module is imported is no part of a run."""
    module = tmp_path / "module.py"
    module.write_text(
        "A = 1\n"
        "class B:\n"
        "    c = 2\n"
        "    def d(self):\n"
        "        return [\n"
        "            e for e in (1, 2)\n"
        "        ]\n"
    )
    assert set().union(*functions(module).values()) == {5, 6}


def test_what_never_ran_is_written_down(tmp_path: Path) -> None:
    """File by file, in runs of numbers; and how much of each package that is."""
    never = tmp_path / "never.txt"
    lines = lines_of(FILE)
    table = report.lines_that_ran([Outcome("ticks", 1, (), lines={FILE: tuple(lines)})], never)
    assert f"model {len(lines):13,} of" in table
    assert FILE not in never.read_text()
    assert "model/ids.py: " in never.read_text()
    assert "-" in never.read_text()

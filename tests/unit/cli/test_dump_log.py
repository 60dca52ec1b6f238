"""`odradek dump-log`: what lies in a log, and where it stops being true."""

import json
from pathlib import Path

from click.testing import CliRunner

from odradek.cli.dump_log import command
from odradek.runtime.disk import SystemDisk
from odradek.storage.logs.closing import close
from tests.unit.storage.partition import ORDERS, SMALL, Partition


def written(path: Path) -> Path:
    """A closed log with a transaction in it; its folder."""
    t = Partition(SMALL, SystemDisk(str(path)))
    for number in range(8):
        t.append(f"k={number}", producer_id=7, producer_epoch=0, base_sequence=number)
    t.append("a", producer_id=8, producer_epoch=0, base_sequence=0, transactional=True)
    t.end(8, committed=False)
    close(t.log, t.now)
    return path / str(ORDERS)


def lines(*arguments: str) -> tuple[int, list[dict[str, object]]]:
    """The exit code, and each line of the JSON."""
    result = CliRunner().invoke(command, [*arguments, "--json"])
    return result.exit_code, [json.loads(line) for line in result.output.splitlines()]


def test_every_file_is_shown_by_its_own_form(tmp_path: Path) -> None:
    """Batches, records, index entries, aborted transactions, producers, epochs."""
    code, shown = lines("--deep", str(written(tmp_path)))
    assert code == 0
    assert [row["value"] for row in shown if "value" in row] == [*map(str, range(8)), "a"]
    assert [row["marker"] for row in shown if "marker" in row] == ["abort"]
    assert [row["base_offset"] for row in shown if "base_offset" in row] == list(range(10))
    assert {row["producer_id"] for row in shown if "batches" in row} == {7, 8}
    assert {"first_offset", "last_offset"} <= {key for row in shown for key in row}
    assert any(row.get("leader_epoch") == 0 and "start_offset" in row for row in shown)


def test_the_first_corrupt_byte_is_named(tmp_path: Path) -> None:
    """The batches before it are shown, and the exit code tells a script."""
    log = min(written(tmp_path).glob("*.log"))
    data = bytearray(log.read_bytes())
    second = int.from_bytes(data[8:12], "big") + 12
    data[second + 65] ^= 1
    log.write_bytes(data)
    code, shown = lines(str(log))
    assert code == 1
    assert shown[0]["base_offset"] == 0
    assert shown[1]["corrupt_at"] == second
    assert "checksum" in str(shown[1]["reason"])
    assert len(shown) == 2


def test_it_reads_as_text_too(tmp_path: Path) -> None:
    """A line for each entry, with the file's name in front."""
    result = CliRunner().invoke(command, [str(written(tmp_path))])
    assert result.exit_code == 0
    assert "leader-epoch-checkpoint: leader_epoch=0 start_offset=0" in result.output

"""`odradek dump-log`: what lies in a log, and where it stops being true."""

import json
from pathlib import Path

from click.testing import CliRunner

from odradek.cli.kafka.dump_log import command as kafka_dump_log
from odradek.cli.records.dump_log import command
from odradek.coordinator.decision import Entry
from odradek.coordinator.transactions.codec import encode
from odradek.coordinator.transactions.states import State
from odradek.coordinator.transactions.values import Identity, Transaction, TransactionKey
from odradek.model.ids import ProducerId
from odradek.model.names import TRANSACTION_STATE_TOPIC
from odradek.model.positions import ProducerEpoch
from odradek.model.units import Millis, Timestamp
from odradek.records.build import build_batch
from odradek.records.record import Record
from odradek.runtime.doors.disk import SystemDisk
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


def test_records_of_transactions_are_read(tmp_path: Path) -> None:
    """In the folder of a partition that has them."""
    folder = tmp_path / f"{TRANSACTION_STATE_TOPIC}-3"
    folder.mkdir()
    me = Identity(ProducerId(7), ProducerEpoch(2))
    value = Transaction(me, Millis(60_000), State.EMPTY, Timestamp(5))
    key, data = encode(Entry(TransactionKey("copier"), value), 0)
    file = folder / f"{0:020}.log"
    file.write_bytes(build_batch([Record(0, 5, key, data), Record(1, 6, key, None)]))
    code, shown = lines("--deep", str(folder))
    assert code == 0
    said = [(row["key"], row["value"]) for row in shown if "key" in row]
    assert [key for key, _ in said] == ["transaction_metadata::transactionalId=copier"] * 2
    assert "producerId:7,producerEpoch:2,state=Empty" in str(said[0][1])
    assert said[1][1] == "<DELETE>"


def spoiled(path: Path, at: int) -> tuple[Path, int]:
    """A log whose second batch has another byte there, and where that batch begins."""
    log = min(written(path).glob("*.log"))
    data = bytearray(log.read_bytes())
    second = int.from_bytes(data[8:12], "big") + 12
    data[second + at] ^= 1
    log.write_bytes(data)
    return log, second


def test_a_corrupt_batch_is_named_and_those_behind_it_are_shown(tmp_path: Path) -> None:
    """As Kafka's tool does; the line has the whole path, and a script the exit code."""
    log, second = spoiled(tmp_path, 65)
    code, shown = lines(str(log))
    assert code == 1
    assert [row.get("base_offset") for row in shown] == [0, None, *range(2, len(shown))]
    assert shown[1]["corrupt_at"] == second
    assert shown[1]["bytes"] == int(str(shown[2]["position"])) - second
    assert "checksum" in str(shown[1]["reason"])
    as_text = CliRunner().invoke(command, [str(log)]).output.splitlines()
    assert as_text[1].startswith(f"{log}: corrupt_at={second} ")


def test_behind_a_length_that_leads_nowhere_nothing_can_be_read(tmp_path: Path) -> None:
    """All bytes that are left are told as corrupt, and no batch is made up of them."""
    log, second = spoiled(tmp_path, 10)  # one of the length
    code, shown = lines(str(log))
    assert code == 1
    assert shown[1]["corrupt_at"] == second
    assert shown[1]["bytes"] == log.stat().st_size - second
    assert len(shown) == 2


def test_kafkas_script_marks_a_corrupt_batch_and_goes_on(tmp_path: Path) -> None:
    """It called all that is behind it invalid bytes at the end of the file."""
    log, second = spoiled(tmp_path, 65)
    said = CliRunner().invoke(kafka_dump_log, ["--files", str(log), "--print-data-log"]).output
    batches = [line for line in said.splitlines() if line.startswith("baseOffset: ")]
    assert [line.endswith("isvalid: true") for line in batches][:3] == [True, False, True]
    assert f" position: {second} " in batches[1]
    assert "invalid bytes" not in said
    assert "payload: 2" in said


def test_it_reads_as_text_too(tmp_path: Path) -> None:
    """A line for each entry, with the file's name in front."""
    result = CliRunner().invoke(command, [str(written(tmp_path))])
    assert result.exit_code == 0
    assert "leader-epoch-checkpoint: leader_epoch=0 start_offset=0" in result.output

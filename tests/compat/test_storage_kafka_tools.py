"""Kafka's own tool reads what we wrote: every batch, every index entry, every producer."""

import re
import subprocess
from pathlib import Path

import pytest

from odradek.model.positions import LeaderEpoch, Offset
from odradek.model.units import Bytes, Timestamp
from odradek.runtime.doors.disk import SystemDisk
from odradek.storage.compacting.compaction import Compaction, cleanable
from odradek.storage.dirs.log_dir import LogDir
from odradek.storage.logs.closing import close
from odradek.storage.settings import LogConfig
from tests.unit.storage.partition import ORDERS, Partition

CONFIG = LogConfig(
    segment_bytes=Bytes(2_000), index_interval_bytes=Bytes(150), compact=True, delete=False
)
COMPLAINTS = ("Mismatches in", "not valid", "Found timestamp mismatch", "out of order", "Exception")


def dumped(java: str, classpath: str, files: list[Path]) -> str:
    """What Kafka's tool says of these files, with every record."""
    command = [java, "-Xmx256m", "-cp", classpath, "kafka.tools.DumpLogSegments"]
    command += ["--deep-iteration", "--files", ",".join(map(str, files))]
    run = subprocess.run(command, check=False, capture_output=True, text=True, timeout=100)
    assert run.returncode == 0, run.stderr
    for complaint in COMPLAINTS:
        assert complaint not in run.stdout + run.stderr, run.stdout + run.stderr
    return run.stdout


def written(path: Path) -> Partition:
    """A log of several segments: epochs, a counting producer, transactions, tombstones."""
    t = Partition(CONFIG, SystemDisk(str(path)))
    for number in range(40):
        t.epoch = LeaderEpoch(number // 15)
        t.now = Timestamp(1_700_000_000_000 + number * 10)
        t.append(
            f"k{number % 7}={number}",
            "gone=",
            producer_id=7,
            producer_epoch=0,
            base_sequence=number * 2,
        )
    fields = {"producer_id": 8, "producer_epoch": 3, "transactional": True}
    t.append("k=aborted", base_sequence=0, **fields)
    t.end(8, committed=False, epoch=3, coordinator=2)
    t.append("k=committed", base_sequence=1, **fields)
    t.end(8, committed=True, epoch=3, coordinator=2)
    t.commit()
    return t


@pytest.mark.parametrize("compacted", [False, True])
def test_kafkas_tool_finds_nothing_to_complain_of(
    java: str,
    kafka_classpath: str,
    tmp_path: Path,
    compacted: bool,  # noqa: FBT001
) -> None:
    """It compares every index entry with the batch that it names, and reads every record."""
    t = written(tmp_path)
    if compacted:
        t.flush()
        log_dir = LogDir(t.disk, t.failures)
        work = Compaction(log_dir, t.log, cleanable(t.log, Offset(0), t.now), t.now)
        for _ in work.steps():
            pass
        work.publish()
    expected = [offset for offset, _ in t.records()]
    close(t.log, t.now)
    assert len(t.log.segments) > 1
    folder = tmp_path / str(ORDERS)
    kinds = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    files = sorted(f for f in folder.iterdir() if f.suffix in kinds and f.stat().st_size)
    assert {file.suffix for file in files} == set(kinds)
    said = dumped(java, kafka_classpath, files)
    lines = re.findall(r"^\| offset: (\d+) .*keySize: \d", said, re.MULTILINE)
    found = [int(offset) for offset in lines]
    data = [offset for offset in found if offset not in {81, 83}]
    assert sorted(data) == expected
    assert "producerId: 7 producerEpoch: 0" in said
    assert "endTxnMarker: ABORT" in said or compacted
    assert "endTxnMarker: COMMIT" in said

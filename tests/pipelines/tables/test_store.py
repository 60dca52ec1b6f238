"""Objects in a directory: what a commit may name is there after a loss of power."""

import os
from pathlib import Path

import pytest

from odradek.pipelines.tables.local_store import WRITE_BEHIND_BYTES, LocalStore


def test_an_object_is_durable_with_its_name_and_the_directories_above(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table's commit is synced: the files that it names must not be the ones that are lost."""
    synced: list[tuple[str, bool]] = []  # what, and whether the object had its name
    fsync, path = os.fsync, tmp_path / "date=2026-01-01/hour=7/part.parquet"

    def noted(number: int) -> None:
        synced.append((str(Path(f"/proc/self/fd/{number}").readlink()), path.exists()))
        fsync(number)

    monkeypatch.setattr(os, "fsync", noted)
    with LocalStore(tmp_path).writing("date=2026-01-01/hour=7/part.parquet") as file:
        file.write(b"rows")
    (_, was_named), *directories = synced
    assert not was_named
    assert directories == [(str(it), True) for it in path.parents[:3]]
    assert path.parents[2] == tmp_path


def test_a_large_file_goes_to_the_device_while_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In ranges one behind the other, of bytes that the kernel has: the sync finds few left."""
    told: list[tuple[int, int]] = []

    def advise(number: int, start: int, length: int, advice: int) -> None:
        assert advice == os.POSIX_FADV_DONTNEED
        assert os.fstat(number).st_size >= start + length
        told.append((start, length))

    monkeypatch.setattr(os, "posix_fadvise", advise)
    piece = os.urandom(300_000)
    with LocalStore(tmp_path).writing("part.parquet") as file:
        for _ in range(40):
            assert file.write(piece) == len(piece)
    assert (tmp_path / "part.parquet").read_bytes() == piece * 40
    assert [start for start, _ in told] == [
        sum(it for _, it in told[:at]) for at in range(len(told))
    ]
    assert sum(length for _, length in told) > 40 * len(piece) - WRITE_BEHIND_BYTES
    assert all(length < WRITE_BEHIND_BYTES + len(piece) for _, length in told)

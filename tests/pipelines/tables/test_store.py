"""Objects in a directory: what a commit may name is there after a loss of power."""

import os
from pathlib import Path

import pytest

from odradek.pipelines.tables.store import LocalStore


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

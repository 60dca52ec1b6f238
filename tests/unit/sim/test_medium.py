"""What a crash leaves: each test tries every outcome that the model allows."""

from collections.abc import Callable

import pytest

from odradek.ports import Disk
from odradek.sim.doors.choices import every_choice
from odradek.sim.doors.disk import SimulatedDisk
from odradek.sim.doors.medium import CrashRules

WHOLE_PAGES = CrashRules(page_bytes=4, tear_one_in=0)
TORN_PAGES = CrashRules(page_bytes=4, tear_one_in=2)


def outcomes(
    build: Callable[[Disk], None], path: str, rules: CrashRules = WHOLE_PAGES
) -> set[bytes | None]:
    """All that can be found under this path after a crash behind `build`; None if it is missing."""
    disk = SimulatedDisk()
    build(disk)
    found = set()
    for choices in every_choice():
        found.add(content(disk.after_crash(choices, rules), path))
    return found


def content(disk: Disk, path: str) -> bytes | None:
    """The bytes of a file, if it is there."""
    if not disk.exists(path):
        return None
    file = disk.open(path)
    return file.read(file.size(), 0)


def synced(disk: Disk, path: str, data: bytes) -> None:
    """A file that no crash can harm."""
    file = disk.open(path, create=True)
    file.write([data], 0)
    file.sync()
    disk.sync_directory("")


def test_what_was_synced_survives() -> None:
    """Bytes synced and name synced: there is one outcome."""
    assert outcomes(lambda disk: synced(disk, "log", b"abcd"), "log") == {b"abcd"}


def test_what_was_synced_together_survives() -> None:
    """Bytes and names, as if each had been synced by itself."""

    def together(disk: Disk) -> None:
        disk.make_directory("orders-0")
        file = disk.open("orders-0/log", create=True)
        file.write([b"abcd"], 0)
        disk.sync_all(["orders-0/log"], ["orders-0", ""])

    assert outcomes(together, "orders-0/log") == {b"abcd"}


def test_two_names_show_the_same_bytes_after_a_crash() -> None:
    """Whatever became of them; and of a name that was not synced, there is the file or none."""

    def build(disk: Disk) -> None:
        synced(disk, "log", b"aaaa")
        assert disk.link("log", "second")
        disk.open("second").write([b"bbbb"], 0)

    found = set()
    disk = SimulatedDisk()
    build(disk)
    for choices in every_choice():
        survivor = disk.after_crash(choices, WHOLE_PAGES)
        found.add((content(survivor, "log"), content(survivor, "second")))
    assert found == {(it, it) for it in (b"aaaa", b"bbbb")} | {(b"aaaa", None), (b"bbbb", None)}


def test_space_is_taken_once_for_two_names() -> None:
    """And given back with the last one, also behind a crash."""
    disk = SimulatedDisk()
    synced(disk, "log", b"aaaa")
    disk.link("log", "second")
    disk.sync_directory("")
    disk = disk.after_exit()
    assert disk.used == 4
    disk.unlink("log")
    assert disk.used == 4
    disk = disk.after_crash(next(iter(every_choice())))
    assert disk.used == 4
    for name in disk.names(""):
        disk.unlink(name)
    assert disk.used == 0


def test_an_unsynced_write_is_there_or_not_page_by_page() -> None:
    """Any subset of its pages, and any size that the file once had; never anything else."""

    def overwrite(disk: Disk) -> None:
        synced(disk, "log", b"aaaabbbb")
        disk.open("log").write([b"AAAABBBB"], 0)

    assert outcomes(overwrite, "log") == {b"aaaabbbb", b"AAAAbbbb", b"aaaaBBBB", b"AAAABBBB"}


def test_an_unsynced_append_may_show_zeros() -> None:
    """The size can arrive without the bytes: a file that lies about what it holds."""

    def append(disk: Disk) -> None:
        synced(disk, "log", b"aaaa")
        disk.open("log").write([b"bbbb"], 4)

    assert outcomes(append, "log") == {b"aaaa", b"aaaabbbb", b"aaaa\0\0\0\0"}


def test_writes_are_reordered() -> None:
    """Of two writes to different pages the second alone may survive."""

    def twice(disk: Disk) -> None:
        synced(disk, "log", b"aaaabbbb")
        file = disk.open("log")
        file.write([b"1111"], 0)
        file.write([b"2222"], 4)

    assert b"aaaa2222" in outcomes(twice, "log")


def test_a_page_is_as_it_was_at_one_moment() -> None:
    """Two writes into one page: before, between, after; not the second without the first."""

    def twice(disk: Disk) -> None:
        synced(disk, "log", b"aaaa")
        file = disk.open("log")
        file.write([b"1"], 0)
        file.write([b"2"], 3)

    assert outcomes(twice, "log") == {b"aaaa", b"1aaa", b"1aa2"}


def test_a_page_can_be_torn() -> None:
    """With tearing, a page is cut anywhere, old on one side and new on the other."""

    def overwrite(disk: Disk) -> None:
        synced(disk, "log", b"aaaa")
        disk.open("log").write([b"AAAA"], 0)

    assert outcomes(overwrite, "log", TORN_PAGES) == {
        b"aaaa", b"Aaaa", b"AAaa", b"AAAa", b"AAAA", b"aAAA", b"aaAA", b"aaaA",
    }  # fmt: skip


def test_a_truncation_never_shows_again_what_it_cut() -> None:
    """Cut and written anew: old bytes only with the old size, never behind the new ones."""

    def cut_and_grow(disk: Disk) -> None:
        synced(disk, "log", b"aaaabbbb")
        file = disk.open("log")
        file.truncate(2)
        file.write([b"cc"], 4)

    assert outcomes(cut_and_grow, "log") == {
        b"aaaabbbb",
        b"aa",
        b"aa\0\0\0\0",
        b"aa\0\0cc",
    }


def test_a_failed_sync_dooms_what_was_written() -> None:
    """The kernel forgets the pages: later syncs succeed, the crash takes them."""

    def fail_once(disk: Disk) -> None:
        assert isinstance(disk, SimulatedDisk)
        synced(disk, "log", b"aaaa")
        file = disk.open("log")
        file.write([b"bbbb"], 4)
        disk.faults.fail_call(disk.faults.calls + 1)
        with pytest.raises(OSError, match="Input/output"):
            file.sync()
        assert file.read(8, 0) == b"aaaabbbb"
        file.sync()
        file.write([b"cccc"], 8)
        file.sync()

    assert outcomes(fail_once, "log") == {b"aaaa\0\0\0\0cccc"}


def test_a_synced_file_may_lack_its_name() -> None:
    """The directory must be synced too."""

    def forget_the_directory(disk: Disk) -> None:
        file = disk.open("log", create=True)
        file.write([b"aaaa"], 0)
        file.sync()

    assert outcomes(forget_the_directory, "log") == {None, b"aaaa"}


def test_a_name_in_a_lost_directory_is_lost() -> None:
    """Each directory on the way needs a sync of the one above it."""

    def forget_the_root(disk: Disk) -> None:
        disk.make_directory("orders-0")
        file = disk.open("orders-0/log", create=True)
        file.write([b"aaaa"], 0)
        file.sync()
        disk.sync_directory("orders-0")

    assert outcomes(forget_the_root, "orders-0/log") == {None, b"aaaa"}


def test_a_rename_is_atomic_and_may_be_undone() -> None:
    """Under the name there is the old file or the new one, never none and never a mixture."""

    def replace(disk: Disk) -> None:
        synced(disk, "checkpoint", b"old")
        file = disk.open("checkpoint.tmp", create=True)
        file.write([b"new"], 0)
        file.sync()
        disk.rename("checkpoint.tmp", "checkpoint")

    assert outcomes(replace, "checkpoint") == {b"old", b"new"}


def test_a_rename_without_a_sync_of_the_bytes_loses_both() -> None:
    """The classic mistake: the new name is durable, its bytes are not."""

    def replace_hastily(disk: Disk) -> None:
        synced(disk, "checkpoint", b"old")
        disk.open("checkpoint.tmp", create=True).write([b"new"], 0)
        disk.rename("checkpoint.tmp", "checkpoint")
        disk.sync_directory("")

    assert outcomes(replace_hastily, "checkpoint") == {b"", b"\0\0\0", b"new"}


def test_an_unlinked_file_may_come_back() -> None:
    """A removal is a change of names like any other."""

    def remove(disk: Disk) -> None:
        synced(disk, "log", b"aaaa")
        disk.unlink("log")

    assert outcomes(remove, "log") == {None, b"aaaa"}


def test_a_sync_takes_along_what_it_rests_on() -> None:
    """A file moved on from a directory that was never synced is durable where it is now."""

    def move_on(disk: Disk) -> None:
        disk.make_directory("a")
        disk.sync_directory("")
        file = disk.open("a/log", create=True)
        file.write([b"aaaa"], 0)
        file.sync()
        disk.rename("a/log", "log")
        disk.sync_directory("")

    assert outcomes(move_on, "log") == {b"aaaa"}
    assert outcomes(move_on, "a/log") == {None}


def test_unrelated_names_survive_independently() -> None:
    """Of two files created one after the other the second alone may be there."""
    disk = SimulatedDisk()
    disk.open("first", create=True)
    disk.open("second", create=True)

    found = {tuple(disk.after_crash(choices).names("")) for choices in every_choice()}

    assert found == {(), ("first",), ("second",), ("first", "second")}


def test_a_journalling_file_system_keeps_names_in_order() -> None:
    """Where the rules say so the second file is there only if the first one is."""
    disk = SimulatedDisk()
    disk.open("first", create=True)
    disk.open("second", create=True)
    rules = CrashRules(names_in_order=True)

    found = {tuple(disk.after_crash(choices, rules).names("")) for choices in every_choice()}

    assert found == {(), ("first",), ("first", "second")}


def test_what_is_not_synced_for_long_is_written_back() -> None:
    """The kernel does not wait for ever; so what a crash must choose from stays bounded."""
    disk = SimulatedDisk()
    file = disk.open("log", create=True)
    for position in range(10_000):
        file.write([b"x"], position)
        disk.open(f"file-{position}", create=True).close()

    crashed = disk.after_crash(next(every_choice()))

    assert len(crashed.names("")) > 9_000

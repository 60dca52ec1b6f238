"""Which replicas a balance of log dirs moves."""

from odradek.cli.replicas.log_dir_balance import plan
from odradek.model.errors import ErrorCode
from odradek.model.ids import BrokerId
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)


def log_dir(name: str, *sizes: int, first: int = 0, future: bool = False) -> DescribeLogDirsResult:
    """A dir with partitions of these sizes, numbered from `first`."""
    rows = [
        DescribeLogDirsPartition(first + number, size, 0, future)
        for number, size in enumerate(sizes)
    ]
    return DescribeLogDirsResult(log_dir=name, topics=[DescribeLogDirsTopic("orders", rows)])


def moves(*dirs: DescribeLogDirsResult) -> list[tuple[int, str, str]]:
    """Which partition goes from where to where."""
    planned = plan(BrokerId(1), dirs)
    return [(it.partition.partition, it.source, it.target) for it in planned]


def test_the_fullest_dir_gives_to_the_emptiest() -> None:
    """Until both have about as much."""
    full = log_dir("a", 400, 300, 200, 100)
    assert moves(full, log_dir("b")) == [(0, "a", "b"), (3, "a", "b")]


def test_dirs_that_are_even_are_left_alone() -> None:
    """A move that only turns the difference around, or gains next to nothing, is none."""
    assert moves(log_dir("a", 1000), log_dir("b", first=1)) == []
    assert moves(log_dir("a", 500, 510), log_dir("b", 500, 500, first=2)) == []


def test_what_moves_already_counts_where_it_goes() -> None:
    """And is not moved a second time."""
    assert moves(log_dir("a", 500, 500), log_dir("b", 20, future=True)) == []


def test_an_offline_dir_takes_no_part() -> None:
    """Nothing is planned to it or from it."""
    gone = DescribeLogDirsResult(ErrorCode.KAFKA_STORAGE_ERROR, "b")
    assert moves(log_dir("a", 400, 300), gone) == []
    assert moves(gone) == []

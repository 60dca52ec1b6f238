"""Which small files are merged."""

from odradek.pipelines.tables.files import DataFile, Span, path_of
from odradek.pipelines.tables.rewriting import groups_to_merge

MB = 1 << 20


def files_of(*sizes: int) -> list[DataFile]:
    """Files of these sizes behind each other."""
    spans = [Span("t", 0, at * 10, at * 10 + 10) for at in range(len(sizes))]
    return [
        DataFile(path_of(span, (), "0f"), size, 10) for span, size in zip(spans, sizes, strict=True)
    ]


def merged(*sizes: int, is_running: bool) -> list[list[int]]:
    """The sizes in each group."""
    groups = groups_to_merge(files_of(*sizes), 128 * MB, is_running=is_running)
    return [[file.bytes for file in group] for group in groups]


def test_large_files_divide_the_small_ones() -> None:
    """Too few beside each other are left alone."""
    sizes = (1, 1, 100 * MB, 1, 2, 3, 4)
    assert merged(*sizes, is_running=False) == [[1, 2, 3, 4]]


def test_a_running_archive_leaves_what_was_merged_alone() -> None:
    """Until what came behind it is half as large."""
    assert merged(900, 100, 100, 100, 100, is_running=True) == [[100, 100, 100, 100]]
    assert merged(900, 100, 100, 100, 150, is_running=True) == [[900, 100, 100, 100, 150]]
    assert merged(900, 100, 100, 100, is_running=True) == []


def test_a_row_is_written_again_a_few_times_only() -> None:
    """A thousand files one after the other, merged after every ten."""
    sizes: list[int] = []
    written = most = 0
    for number in range(1_000):
        sizes.append(1_000)
        if number % 10 == 9:
            for group in merged(*sizes, is_running=True):
                del sizes[-len(group) :]
                sizes.append(sum(group))
                written += sum(group)
        most = max(most, len(sizes))
    assert written < 8 * 1_000_000
    assert most < 30

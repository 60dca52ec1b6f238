"""Tables for people: columns that stand below each other.

Nothing is cut. A table that is wider than the terminal first loses the columns in which no row has
anything, then its titles stand in several lines, then its columns stand closer. Where that is not
enough its widest column is made for most of its rows, so that a long name breaks its own row and no
other; and of a single row each column has a line of its own.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Self

from odradek.cli.showing.cells import cell

LINE: Final = 80
"""Columns of a terminal."""
GAP: Final = "  "
NOTHING: Final = {"", "-"}


class Column(NamedTuple):
    """Of a table, as texts."""

    title: tuple[str, ...]  # its lines
    cells: tuple[str, ...]
    is_of_numbers: bool

    @property
    def width(self) -> int:
        """As if no cell of it were longer than a line."""
        return max(len(it) for it in (*self.title, *self.cells) if len(it) <= LINE)

    @property
    def is_empty(self) -> bool:
        """Whether no row has anything in it."""
        return NOTHING.issuperset(self.cells)

    def with_a_high_title(self) -> Self:
        """In as many lines as it has words, where it is wider than what stands below it."""
        (title,) = self.title
        is_wide = len(title) > max(map(len, self.cells), default=0)
        return self._replace(title=tuple(title.split())) if is_wide else self

    def padded(self, text: str, width: int) -> str:
        """Numbers stand at the right, everything else at the left."""
        return text.rjust(width) if self.is_of_numbers else text.ljust(width)


def aligned(
    titles: Sequence[str], rows: Sequence[Sequence[object]], room: int = LINE
) -> tuple[list[str], list[str]]:
    """The lines of the titles, and one for each row."""
    columns = [_column(title, [row[i] for row in rows]) for i, title in enumerate(titles)]
    if _over(columns, room) > 0:
        columns = [it for it in columns if not it.is_empty] or columns
    if _over(columns, room) > 0:
        columns = [it.with_a_high_title() for it in columns]
    gap, widths = GAP, [it.width for it in columns]
    if 0 < _over(columns, room) < len(columns):
        gap = " "
    elif _over(columns, room) > 0:
        if len(rows) == 1:
            return [], [f"{' '.join(it.title)}: {it.cells[0]}" for it in columns]
        _narrow(widths, columns, _over(columns, room))

    def line(texts: Sequence[str]) -> str:
        cells = zip(columns, texts, widths, strict=True)
        padded = (column.padded(text, width) for column, text, width in cells)
        return gap.join(padded).rstrip()

    height = max(len(it.title) for it in columns)
    heads = [("",) * (height - len(it.title)) + it.title for it in columns]
    told = [line([head[number] for head in heads]) for number in range(height)]
    return told, [line([it.cells[number] for it in columns]) for number in range(len(rows))]


def _column(title: str, values: Sequence[object]) -> Column:
    is_of_numbers = any(isinstance(it, int | float) for it in values) and all(
        isinstance(it, int | float | None) for it in values
    )
    return Column((title,), tuple(cell(it, for_people=True) for it in values), is_of_numbers)


def _over(columns: Sequence[Column], room: int) -> int:
    return sum(it.width for it in columns) + len(GAP) * (len(columns) - 1) - room


def _narrow(widths: list[int], columns: Sequence[Column], lacking: int) -> None:
    """Takes it from the widest column of texts, if most of its rows need less."""
    texts = [i for i, it in enumerate(columns) if not it.is_of_numbers]
    if not texts:
        return
    widest = max(texts, key=widths.__getitem__)
    less = widths[widest] - lacking
    lengths = [len(it) for it in (*columns[widest].title, *columns[widest].cells)]
    if sum(it <= less for it in lengths) * 2 > len(lengths):
        widths[widest] = less

"""From records to rows that the table takes, whatever the records hold.

What a batch fails at is traced to its record by halving: that one is a dead letter, with what was
said as its reason, and all others go on. What is no record's fault ends the run: a registry that
does not answer, a disk that is full, a library that is not there.

Between the two is what no content should cause: a mistake of ours, or of a library. Where other
records of the batch give rows, it is the record that is strange, and it makes a dead letter. Where
none does and all that fail so fail at one place, the run ends: a whole topic would be dead letters
otherwise, and nothing would say why.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from odradek.model.counting import counted
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.moving.values import Converted
from odradek.pipelines.tables.table import TableRefused

REASON_MAX: Final = 300
OF_CONTENT: Final = (TableRefused, ValueError, ArithmeticError, RecursionError)
"""What values can cause that are not what a format expects. Arrow's are among them: ArrowInvalid
is a ValueError; its errors of types and names are mistakes of the code that gave it these."""
OF_SURROUNDINGS: Final = (OSError, MemoryError)

Convert = Callable[[pa.RecordBatch], Converted]
"""Rows of records, as the table takes them at this moment."""


class Mistake(PipelineError):
    """Records cannot be converted, and as far as is known none of them is to blame."""


@dataclass(frozen=True, slots=True)
class _Fate:
    """Some records in order, and what became of them."""

    records: pa.RecordBatch
    converted: Converted
    mistake: Exception | None = None  # which no content should cause


def traced(records: pa.RecordBatch, convert: Convert) -> Iterator[tuple[pa.RecordBatch, Converted]]:
    """Records and what became of them, in order; all at once where nothing fails."""
    held: list[_Fate] | None = []  # until one gives a row
    for it in _halved(records, convert):
        if held is None:
            yield it.records, it.converted
            continue
        held.append(it)
        if it.converted.rows.num_rows:
            yield from ((some.records, some.converted) for some in held)
            held = None
    _check_mistakes(held or [])
    yield from ((some.records, some.converted) for some in held or [])


def _halved(records: pa.RecordBatch, convert: Convert) -> Iterator[_Fate]:
    try:
        converted = convert(records)
    except OF_SURROUNDINGS:
        raise
    except ImportError as error:
        raise _mistake([records], error) from error
    except Exception as error:
        of_content = isinstance(error, OF_CONTENT)
        if isinstance(error, PipelineError) and not of_content:
            raise
        if records.num_rows > 1:
            half = records.num_rows // 2
            yield from _halved(records.slice(0, half), convert)
            yield from _halved(records.slice(half), convert)
            return
        dead = Converted(NO_ROWS, {0: _reason(error)})
        yield _Fate(records, dead, None if of_content else error)
        return
    yield _Fate(records, converted)


NO_ROWS: Final = pa.RecordBatch.from_pydict({})


def _check_mistakes(fates: list[_Fate]) -> None:
    """Mistake, if all that were met are one and the same."""
    met = [(it.records, it.mistake) for it in fates if it.mistake is not None]
    if met and len({_place(error) for _, error in met}) == 1:
        error = met[0][1]
        raise _mistake([records for records, _ in met], error) from error


def _place(error: Exception) -> tuple[type[Exception], str, int]:
    """Where it was raised: texts differ by the record, mistakes by their lines."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    assert trace is not None, "it was caught"
    return type(error), trace.tb_frame.f_code.co_filename, trace.tb_lineno


def _mistake(failed: list[pa.RecordBatch], error: Exception) -> Mistake:
    count = sum(it.num_rows for it in failed)
    topic, partition, offset = (
        failed[0].column(it)[0].as_py() for it in ("topic", "partition", "offset")
    )
    return Mistake(
        f"{counted(count, 'record')} of {topic}-{partition}, the first at offset "
        f"{offset}, cannot be converted: {type(error).__name__}: {_reason(error)}; nothing in a "
        "record should cause that, so it is a mistake of Odradek or of a library, and no dead "
        "letters are made of them"
    )


def _reason(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:REASON_MAX]

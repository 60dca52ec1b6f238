"""What a batch fails at, and of which failures dead letters may be made."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from odradek.pipelines.errors import PipelineError
from odradek.pipelines.formats.registry import RegistryAway
from odradek.pipelines.moving.archiving.tracing import Mistake, traced
from odradek.pipelines.moving.values import Converted
from odradek.pipelines.tables.table import TableRefused
from tests.pipelines.formats.records import records as records_from

VALUES = [b"%d" % it for it in range(40)]


def failing(raised: Callable[[int], BaseException | None]) -> Callable[[Any], Converted]:
    """A conversion that fails at values for which something is raised."""

    def convert(records: pa.RecordBatch) -> Converted:
        for value in records.column("value").to_pylist():
            error = raised(json.loads(value))
            if error is not None:
                raise error
        return Converted(records)

    return convert


def fates(convert: Callable[[Any], Converted], values: list[bytes] = VALUES) -> dict[int, str]:
    """The dead by their offsets; all others are rows, and each is there once, in order."""
    dead: dict[int, str] = {}
    seen: list[int] = []
    for records, converted in traced(records_from(values), convert):
        offsets = records.column("offset").to_pylist()
        seen += offsets
        dead |= {offsets[at] - 100: reason for at, reason in converted.dead.items()}
        assert converted.rows.num_rows + len(converted.dead) == len(offsets)
    assert seen == list(range(100, 100 + len(values)))
    return dead


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        OverflowError("no"),
        RecursionError("no"),
        TableRefused("no"),
        pa.ArrowInvalid("no"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "no"),
    ],
)
def test_what_content_can_cause_makes_a_dead_letter(error: Exception) -> None:
    """Of one record, and of all of them: then the topic holds nothing else."""
    assert list(fates(failing(lambda it: error if it == 7 else None))) == [7]
    assert len(fates(failing(lambda _: error))) == len(VALUES)


@pytest.mark.parametrize("error", [OSError("full"), MemoryError("full"), RegistryAway("away")])
def test_what_no_content_causes_ends_the_run(error: Exception) -> None:
    """A disk that is full, a registry that is away: the records are not to blame."""
    with pytest.raises(type(error)):
        fates(failing(lambda it: error if it == 7 else None))


def test_a_library_that_is_not_there_ends_the_run() -> None:
    """As with the others, no record is looked for."""
    with pytest.raises(Mistake, match="ImportError: no fastavro"):
        fates(failing(lambda it: ImportError("no fastavro") if it == 7 else None))


def test_a_mistake_that_few_records_meet_makes_dead_letters() -> None:
    """A record never ends a run: what other records do not meet is traced to those that do."""
    dead = fates(failing(lambda it: KeyError("field") if it in {0, 1, 39} else None))
    assert dead == dict.fromkeys((0, 1, 39), "'field'")


def test_a_mistake_that_all_records_meet_ends_the_run() -> None:
    """Or a whole topic would be dead letters by a mistake of ours, and nobody would know."""
    with pytest.raises(
        Mistake, match=r"40 records of orders-3, .*offset 100, .*TypeError: of 0"
    ) as it:
        fates(failing(lambda it: TypeError(f"of {it}")))
    assert isinstance(it.value, PipelineError)
    with pytest.raises(Mistake, match="AttributeError"):
        fates(failing(lambda _: AttributeError("no such name")), [b"1"])


def test_dead_records_do_not_hide_a_mistake() -> None:
    """What gives no row proves nothing: one value that is none, and all others meet the mistake."""
    with pytest.raises(Mistake, match="TypeError"):
        fates(failing(lambda it: ValueError("none") if it == 3 else TypeError("ours")))


def test_different_mistakes_are_of_different_records() -> None:
    """They have nothing in common but that they fail."""

    def raised(it: int) -> BaseException:
        if it % 2:
            return KeyError("odd")
        return TypeError("even")

    assert len(fates(failing(raised))) == len(VALUES)

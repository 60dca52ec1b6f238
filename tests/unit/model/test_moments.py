"""Moments as text, also those that no calendar has."""

from datetime import UTC, datetime

import pytest

from odradek.model.moments import YEAR_1, YEAR_10000, moment_text


@pytest.mark.parametrize(
    ("millis", "text"),
    [
        (0, "1970-01-01T00:00:00+00:00"),
        (1_769_860_800_999, "2026-01-31T12:00:00+00:00"),
        (YEAR_1, "0001-01-01T00:00:00+00:00"),
        (YEAR_10000 - 1, "9999-12-31T23:59:59+00:00"),
        (YEAR_1 - 1, f"{YEAR_1 - 1} ms after 1970"),
        (1_769_860_800_999_000, "1769860800999000 ms after 1970"),
    ],
)
def test_a_moment_is_text(millis: int, text: str) -> None:
    """To the second; beyond the calendar as it was."""
    assert moment_text(millis) == text


def test_the_calendar_is_pythons() -> None:
    """From its first millisecond to its last."""
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
    assert moment_text(YEAR_1, "milliseconds") == first.isoformat(timespec="milliseconds")
    assert moment_text(YEAR_10000 - 1, "milliseconds") == last.isoformat(timespec="milliseconds")


def test_a_number_of_another_type_is_as_quick() -> None:
    """To look for one in a range, Python would go through all of its milliseconds."""
    assert moment_text(Moment(0)) == moment_text(0)


class Moment(int):
    """As commands print it."""

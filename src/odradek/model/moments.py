"""Moments of records as text.

A record may claim any time: a client that takes microseconds for milliseconds writes to the year
55,000, which is further than the calendars of Python and of most engines go.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from odradek.model.units import DAY

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
YEAR_1: Final = -719_162 * DAY
YEAR_10000: Final = 2_932_897 * DAY


def in_calendar(millis: int) -> bool:
    """Whether it is in the years 1 to 9999."""
    return YEAR_1 <= millis < YEAR_10000


def moment_text(millis: int, timespec: str = "seconds") -> str:
    """In UTC; beyond the calendar as it is."""
    if not in_calendar(millis):
        return f"{millis} ms after 1970"
    return (EPOCH + timedelta(milliseconds=millis)).isoformat(timespec=timespec)

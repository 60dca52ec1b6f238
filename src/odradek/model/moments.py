"""Moments of records as text.

A record may claim any time: a client that takes microseconds for milliseconds writes to the year
55,000, which is further than the calendars of Python and of most engines go.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from odradek.model.units import DAY

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
CALENDAR: Final = range(-719_162 * DAY, 2_932_897 * DAY)
"""The milliseconds of the years 1 to 9999."""


def moment_text(millis: int, timespec: str = "seconds") -> str:
    """In UTC; beyond the calendar as it is."""
    if millis not in CALENDAR:
        return f"{millis} ms after 1970"
    return (EPOCH + timedelta(milliseconds=millis)).isoformat(timespec=timespec)

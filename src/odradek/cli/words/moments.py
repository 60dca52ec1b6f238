"""Moments and durations as people write them."""

import re
from datetime import UTC, datetime
from typing import Final

from odradek.cli.words.failing import MISUSED, Failed
from odradek.model.units import DAY, HOUR, MINUTE, SECOND

DIGITS_MAX: Final = 18
"""As many as every number of Kafka's protocol may have; they reach beyond any date."""
_DURATION: Final = re.compile(
    r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?"
)


def millis_of(text: str) -> int:
    """Milliseconds since 1970, or a date with a time; without a zone it is UTC."""
    if text.isdecimal() and len(text) <= DIGITS_MAX:
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        what = f"{text[:40]!r} is no time"
        raise Failed(what, "write 2026-01-31T12:00 or milliseconds since 1970", MISUSED) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000)


def duration_of(text: str) -> int:
    """Milliseconds of `PT1H30M` and `P7D`, as Kafka's tools take them."""
    match = _DURATION.fullmatch(text)
    if match is None or not any(match.groups()):
        what = f"{text[:40]!r} is no duration"
        raise Failed(what, "write PT30M for half an hour, P7D for a week", MISUSED)
    weeks, days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    total = (7 * weeks + days) * DAY + hours * HOUR + minutes * MINUTE + seconds * SECOND
    return int(total)

"""Versions of Kafka as values of settings: those that Kafka 3.9.1 takes, and no others."""

import pytest

from odradek.config.kinds import NotAllowed
from odradek.config.rows.broker import INTER_BROKER_PROTOCOL_VERSION
from odradek.config.rows.topic import MESSAGE_FORMAT_VERSION

TAKEN = [
    *("0.8.0", "0.8.2.2", "0.9.0", "0.9.0.0", "0.10.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.0.1"),
    *("0.11.0", "0.11.0.2", "0.11.0-IV2", "1.0", "1.0.0", "1.0-IV0", "1.0.x", "1.0.0.0.0"),
    *("2.0", "2.0.1", "2.8", "2.8-IV1", "3.0", "3.0.0", "3.0-IV0", "3.0-IV1", "3.0.0-IV1"),
    *("3.9", "3.9.1", "3.9-IV0"),
]
REFUSED = [
    *("", "0.7", "0.8", "0.9", "0.10", "0.10.0-IV2", "0.10.3", "0.11.0-IV3", "1", "1.2", "2.9"),
    *("3.9-IV1", "3.9-IV", "3.9-IV00", "4.0", "4.0-IV3", "4.1", "3.x", "nonsense"),
]


@pytest.mark.parametrize("text", TAKEN)
def test_a_release_may_have_more_parts_than_count(text: str) -> None:
    """Clients name the version that runs elsewhere: 0.11.0.2 is of the line 0.11.0."""
    for setting in (MESSAGE_FORMAT_VERSION, INTER_BROKER_PROTOCOL_VERSION):
        assert setting.kind.parse(text) == text


@pytest.mark.parametrize("text", REFUSED)
def test_a_version_that_there_was_not_is_refused(text: str) -> None:
    """A typing mistake is told when the setting is made."""
    for setting in (MESSAGE_FORMAT_VERSION, INTER_BROKER_PROTOCOL_VERSION):
        with pytest.raises(NotAllowed):
            setting.kind.parse(text)

"""Which partition a group belongs to."""

import pytest

from odradek.coordinator.placement import java_hash, partition_of


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(1 << 31)),
        ("\N{GRINNING FACE}", 1772899),  # two units of UTF-16
    ],
)
def test_strings_hash_as_in_java(text: str, value: int) -> None:
    """Other brokers must find the group in the same partition."""
    assert java_hash(text) == value


def test_the_partition_is_the_absolute_value() -> None:
    """And 0 for the one integer that has none."""
    assert partition_of("hello", 50) == 99162322 % 50
    assert partition_of("polygenelubricants", 50) == 0
    negative = "billing"
    assert java_hash(negative) == -109829509
    assert partition_of(negative, 50) == -java_hash(negative) % 50

"""Which names a topic may have."""

import pytest

from odradek.model.names import TOPIC_NAME_MAX, metric_collision_key, topic_name_fault


@pytest.mark.parametrize("name", ["a", "orders", "a.b_c-D9", "...", "x" * TOPIC_NAME_MAX])
def test_legal_names_have_no_fault(name: str) -> None:
    """Letters, digits, dot, underscore and dash, up to 249 of them."""
    assert topic_name_fault(name) is None


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("", "empty"),
        (".", "'.'"),
        ("..", "'..'"),
        ("x" * (TOPIC_NAME_MAX + 1), "250"),
        ("../etc", "'/' cannot"),
        ("a b", "' ' cannot"),
        ("a\n", r"'\n' cannot"),
        ("a\x00", r"'\x00' cannot"),
        ("größe", "'ö' cannot"),
    ],
)
def test_illegal_names_are_told_why(name: str, says: str) -> None:
    """Whatever could leave its directory or confuse a metric is refused with a sentence."""
    fault = topic_name_fault(name)
    assert fault is not None
    assert says in fault


def test_dot_and_underscore_collide_in_metrics() -> None:
    """`a.b` and `a_b` would share their metrics, so one of them must not be created."""
    assert metric_collision_key("a.b") == metric_collision_key("a_b")

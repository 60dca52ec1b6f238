"""Random lives of one transactional id: nothing torn, nothing lost, nothing undecided for ever."""

from collections.abc import Container

import pytest

from odradek.coordinator.transactions.values import Identity
from tests.property.transaction_model import World

SEEDS = 60
STEPS = 400
V1, V2 = 0, 2


def test_lives_are_full_of_transactions() -> None:
    """Most of them committed; of those that are not told of, nobody has heard the end."""
    worlds = [World(seed, V2, late_ends={V2}) for seed in range(10)]
    for world in worlds:
        world.run(STEPS)
    told = [committed for world in worlds for committed in world.told.values()]
    assert len(told) > 100
    assert 20 < sum(told) < len(told)


def first_fault(kind: type[World], *versions: int, late_ends: Container[int]) -> str | None:
    """Of the seeds, and of which one it is."""
    for seed in range(SEEDS):
        world = kind(seed, *versions, late_ends=late_ends)
        world.run(STEPS)
        faults = world.faults()
        if faults:
            return f"seed {seed}: {faults[0]}"
    return None


def test_transactions_of_version_1_hold() -> None:
    """As long as no request of an ended transaction is under way."""
    assert first_fault(World, V1, late_ends=()) is None


def test_transactions_of_version_2_hold_whatever_is_late() -> None:
    """Markers, ends and batches come again, and after the next transaction has begun."""
    assert first_fault(World, V2, late_ends={V2}) is None


def test_producers_of_both_versions_hold_whatever_the_level_is() -> None:
    """They fence each other; the cluster's level changes while their transactions are open."""
    assert first_fault(World, V1, V2, late_ends={V2}) is None


def test_version_1_fails_under_a_late_end() -> None:
    """KAFKA-17754: the hole that version 2 closes."""
    assert first_fault(World, V1, late_ends={V1}) is not None


class WithoutQuestions(World):
    """Leaders take every batch."""

    VERIFIES = False


class WithoutVersions(World):
    """At level 0 a marker does not say in which version its transaction was."""

    MARKERS_HAVE_VERSIONS = False


class WithoutMarkers(World):
    """A marker counts as soon as it is sent."""

    WAITS_FOR_MARKERS = False


@pytest.mark.parametrize("kind", [WithoutQuestions, WithoutMarkers])
def test_a_wrong_rule_is_found(kind: type[World]) -> None:
    """Or the test would say nothing."""
    assert first_fault(kind, V2, late_ends={V2}) is not None


def test_an_end_in_version_2_has_to_say_so_at_level_0() -> None:
    """A producer knows of a level before or after its coordinator."""
    assert first_fault(WithoutVersions, V1, V2, late_ends={V2}) is not None


def test_a_process_that_fences_nobody_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """InitProducerId without a new epoch."""
    monkeypatch.setattr(Identity, "fenced", lambda self: self)
    assert first_fault(World, V1, late_ends=()) is not None

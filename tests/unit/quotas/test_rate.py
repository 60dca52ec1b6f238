"""How much per second: Kafka's arithmetic, to the millisecond."""

import pytest

from odradek.model.units import Millis
from odradek.quotas.rate import Rate
from odradek.quotas.token_bucket import TokenBucket

NOW = Millis(1_000_000)


def at(millis: int) -> Millis:
    """So long after the beginning."""
    return Millis(NOW + millis)


def test_a_first_request_is_no_flood() -> None:
    """It counts as if all windows but the last had passed before it."""
    rate = Rate(11, Millis(1_000))
    rate.record(5_000, NOW)
    assert rate.per_second(NOW) == 500
    assert rate.pause(500, NOW) == 0
    assert rate.pause(250, NOW) == 10_000


@pytest.mark.parametrize(
    ("millis", "per_second"),
    [(0, 100), (999, 1_000 / 10.999), (1_000, 100), (10_000, 100), (10_999, 1_000 / 10.999)],
)
def test_what_came_is_spread_over_the_time_that_is_looked_at(
    millis: int, per_second: float
) -> None:
    """At least all whole windows but one; the one that is filled counts as far as it has passed."""
    rate = Rate(11, Millis(1_000))
    rate.record(1_000, NOW)
    assert rate.per_second(at(millis)) == pytest.approx(per_second)


def test_what_is_old_is_forgotten() -> None:
    """A window counts while its last amount is younger than all windows together."""
    rate = Rate(2, Millis(1_000))
    rate.record(100, NOW)
    rate.record(100, at(900))
    assert rate.per_second(at(2_899)) > 0
    assert not rate.is_idle(at(2_899))
    assert rate.per_second(at(2_900)) == 0
    assert rate.is_idle(at(2_900))


def test_what_is_taken_back_was_never_there() -> None:
    """As a fetch that is answered with nothing after all."""
    rate = Rate(11, Millis(1_000))
    rate.record(7_000, NOW)
    rate.record(-7_000, NOW)
    assert rate.per_second(at(300)) == 0


def test_one_who_pauses_as_he_is_told_keeps_to_the_limit() -> None:
    """Whatever comes at once, if it is no more than all windows hold."""
    for size in (10, 500, 5_000, 9_000):
        rate, millis, total = Rate(11, Millis(1_000)), 0, 0
        while millis < 200_000:
            rate.record(size, at(millis))
            total += size
            millis += max(rate.pause(1_000, at(millis)), 1)
        assert total / (millis / 1_000) == pytest.approx(1_000, rel=0.08), size


def test_a_credit_is_there_at_once_and_paid_back_later() -> None:
    """Ten a second over eleven seconds: 110 at once; who has some left may take more than that."""
    bucket = TokenBucket(10, 11, NOW)
    bucket.take(109, NOW)
    assert bucket.pause(NOW) == 0
    bucket.take(51, NOW)
    assert bucket.pause(NOW) == 5_000
    assert bucket.pause(at(4_999)) == 1
    assert bucket.pause(at(5_000)) == 0
    assert not bucket.is_full(at(15_000))
    assert bucket.is_full(at(16_000))


def test_a_credit_grows_no_further_than_its_bound() -> None:
    """However long nothing was taken."""
    bucket = TokenBucket(10, 11, NOW)
    bucket.take(111, at(10_000_000))
    assert bucket.pause(at(10_000_000)) == 100

"""Followers of a leader that changes: one history below the high watermark, whatever happens.

The same histories find the mistakes that Kafka once made: a model in which they went unseen would
prove nothing about the rules that replaced them.
"""

import pytest

from odradek.model.units import Millis
from odradek.replication.following import EpochEnd, Fetching, Follower, FollowerEffects, Resting
from tests.property.replication_model import run

SEEDS = 30
UNTIL_FOUND_MAX = 150
TRUNCATES_ON_FETCH, ASKS_FOR_EPOCHS = 17, 11


class CutsAtHighWatermark(Follower):
    """Kafka before 0.11: the follower's high watermark lags behind what is committed."""

    def begin(self) -> FollowerEffects:
        """Without a question."""
        return self._cut_at_high_watermark()

    def _settled(self) -> Resting:
        return Fetching()


class ComparesOnce(Follower):
    """KIP-101 alone: the end of an epoch that the leader never had is that of another one."""

    def _compared(self, theirs: EpochEnd, now: Millis) -> FollowerEffects:
        del now
        return self._truncate(min(theirs.end_offset, self._log.log_end_offset), Fetching())


def is_found(mistake: type[Follower]) -> bool:
    """Whether one of the histories shows it."""
    for seed in range(UNTIL_FOUND_MAX):
        try:
            run(seed, fetch_version=ASKS_FOR_EPOCHS, follower_type=mistake)
        except AssertionError as error:
            return "history" in str(error) or "committed" in str(error)
    return False


@pytest.mark.parametrize("fetch_version", [TRUNCATES_ON_FETCH, ASKS_FOR_EPOCHS])
@pytest.mark.parametrize("min_isr", [1, 2])
def test_what_is_committed_stays_and_all_replicas_agree(fetch_version: int, min_isr: int) -> None:
    """Leaders change, processes die, connections break; no committed record is lost or replaced."""
    acknowledged = 0
    for seed in range(SEEDS):
        cluster = run(seed, fetch_version=fetch_version, min_isr=min_isr)
        acknowledged += len(cluster.acknowledged)
    assert acknowledged > 3 * SEEDS


def test_a_cut_at_the_high_watermark_is_found() -> None:
    """A follower that restarts drops what the leader has committed, and may be elected next."""
    assert is_found(CutsAtHighWatermark)


def test_kip_101_without_kip_279_is_found() -> None:
    """Two elections in a row: the logs part within an epoch that only one of them knows."""
    assert is_found(ComparesOnce)

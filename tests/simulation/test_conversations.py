"""Conversations notice wrong rules that a world would find late, or cannot find."""

from typing import Final

import pytest

from odradek.sim.conversations import KNOWN, converse
from tests.simulation.test_cluster import BY_COMMAND, FIRST

SEEDS: Final = 15  # within so many each mistake must be found
FOUND_IN: Final = {
    "deleted-before-all-replicas-are": "a-topic-is-gone-only-once-a-disk-that-failed-was-looked-at",
    "one-comparison-is-enough": "kip-279-an-epoch-that-the-leader-never-had",
    "committed-isr-only": "an-expansion-is-written-and-its-answer-lost-before-the-leader-changes",
    "clean-marker-stays": "a-mark-of-a-clean-shutdown-counts-once",
    "isr-of-another-life": "kip-903-a-member-of-an-earlier-life-joins-no-isr",
    "states-without-versions": "a-state-that-another-has-written-is-read-before-it-is-replaced",
    "conflicts-are-not-read": "a-state-that-another-has-written-is-read-before-it-is-replaced",
    "past-controllers-are-obeyed": "a-controller-that-was-replaced-changes-nothing",
    "words-for-an-earlier-life-are-obeyed": "a-controller-that-was-replaced-changes-nothing",
    "leader-epochs-do-not-fence": "a-leadership-that-is-told-late-changes-nothing",
    "stopped-in-any-leader-epoch": "kip-570-a-word-to-stop-that-was-overtaken-deletes-nothing",
    "append-behind-a-failed-write": "a-write-behind-one-that-failed-is-not-written",
    "snapshot-without-this-turn": "who-wrote-the-end-of-a-full-segment-is-known-after-a-start",
    "group-sync-skips-what-was-begun": (
        "a-segment-that-an-acknowledged-write-began-outlives-a-loss-of-power"
    ),
    "no-answer-is-a-failure": "an-election-is-written-and-its-answer-lost",
    "no-resignation": "a-controller-that-is-refused-by-zookeeper-begins-anew",
    "an-expiry-tells-nobody": "a-controller-whose-session-is-over-answers-as-one-no-more",
    "settings-are-of-a-name": ("a-topic-that-is-made-again-has-its-own-settings-on-every-broker"),
    "no-server-lags": "settings-that-a-server-has-not-heard-of-are-not-none",
    "a-server-that-does-not-serve-is-kept": (
        "a-zookeeper-that-refuses-every-other-request-ends-no-broker-way-throttled"
    ),
    "a-moved-log-is-whole": "a-log-that-lost-records-takes-that-along",
    "a-moved-log-is-not-noted-as-unclean": "a-log-that-lost-records-takes-that-along",
    "equal-ends-are-equal-logs": "a-copy-of-another-history-does-not-take-the-place-of-the-log",
    "moved-before-it-has-caught-up": "what-is-written-as-a-swap-is-prepared-moves-along",
    "a-failed-rename-leaves-no-note": "a-swap-that-failed-is-none",
    "a-move-leaves-no-note": "of-two-logs-of-a-move-the-one-that-moved-is-true",
    "a-swap-does-not-cut-first": "a-copy-of-another-history-does-not-take-the-place-of-the-log",
    "names-of-moved-logs-are-not-synced": "a-log-that-has-moved-outlives-a-loss-of-power",
    "no-log-is-doubted": "7-a-whole-log-that-may-be-the-former-one-stays-eligible-first-3",
    "a-start-is-told-before-it-is-durable": (
        "a-start-that-retention-moved-is-where-it-was-after-a-power-cut"
    ),
    "checkpoints-skip-what-is-about-to-begin": (
        "a-start-that-retention-moved-is-where-it-was-after-a-power-cut"
    ),
    "made-while-a-dir-is-offline": (
        "a-disk-that-fails-while-a-topic-is-made-takes-only-its-own-partitions"
    ),
    "what-is-deleted-keeps-its-name": "a-topic-that-is-made-again-has-nothing-of-the-old-one",
    "of-two-logs-none-is-newer": "7-a-replica-comes-again-while-its-former-log-is-offline",
    "a-name-is-a-topic": "a-disk-that-comes-back-from-a-backup-has-logs-of-deleted-topics",
    "a-full-disk-is-fetched-for": "a-little-room-is-no-room",
    "a-full-disk-leads-on": "a-leader-whose-disk-is-full-gives-way",
    "readiness-for-any-wish": "a-broker-that-was-ready-before-is-waited-for-again",
    "no-wish-is-refused": "a-wish-of-an-earlier-epoch-moves-nothing",
    "a-wish-is-waited-for-without-end": "the-candidate-hangs-after-the-hand-over",
    "any-broker-may-be-the-controller": "an-operator-ends-the-waiting-with-one-command",
    "all-compete-with-who-is-ready": "an-operator-ends-the-waiting-with-one-command",
    "a-new-controller-trusts-all-who-live": "a-bounce-during-a-hand-over-is-a-failure",
    "a-warm-beginning-repairs-nothing": "a-bounce-during-a-hand-over-is-a-failure",
    "what-was-begun-is-not-resumed": "a-deletion-that-waits-outlives-its-controller",
    "marks-of-before-are-not-read": (
        "a-topic-whose-deletion-waits-gets-no-leader-from-the-next-controller-how-dies"
    ),
    "the-lease-is-not-looked-at-again": "of-two-wishes-the-later-one-wins",
    "eligible-under-no-number": (
        "a-setting-of-the-leader-alone-commits-nothing-without-who-is-eligible"
    ),
    "a-single-replica-is-not-proven": (
        "a-disk-that-died-unnoticed-costs-no-other-copy-stays-leader"
    ),
    "nobody-is-eligible": "a-setting-of-the-leader-alone-commits-nothing-without-who-is-eligible",
    "preferred-before-in-sync": "a-preferred-leader-that-has-not-caught-up-is-not-elected",
    "a-cancel-leaves-too-few": "a-cancel-that-would-leave-too-few-is-refused",
    "one-in-sync-completes-a-move": "a-throttle-that-is-taken-away-holds-nobody-any-more",
    "unclean-elections-are-allowed": "an-unclean-election-by-setting",
    "who-lives-can-lead": "a-leaders-disk-fails-and-another-broker-leads",
    "a-join-is-of-any-log": "a-join-that-was-on-its-way-does-not-count-for-an-empty-log-is-alone",
    "proposals-of-any-version": "an-isr-is-changed-by-its-leader-alone-and-in-its-epochs",
    "a-lost-state-is-a-new-partition": "a-lost-state-elects-nobody",
    "what-is-not-named-is-deleted": "a-topic-that-cannot-be-read-keeps-its-commits-and-is-served",
    "a-deletion-outlives-its-topic": "the-znode-of-a-deletion",
    "what-has-no-state-is-not-named": (
        "a-new-partition-without-a-live-replica-is-led-when-one-comes"
    ),
    "a-new-partition-is-not-led-later": (
        "a-new-partition-without-a-live-replica-is-led-when-one-comes"
    ),
    "deletions-are-not-resumed": "a-deletion-that-waits-outlives-its-controller",
    "silent-producers-are-forgotten": "who-wrote-the-end-of-a-full-segment-is-known-after-a-start",
    "producers-are-not-replayed": "power-fails-between-the-append-and-the-sync",
    "producers-outlive-a-cut": "a-batch-that-was-cut-is-not-one-that-is-there",
    "each-epoch-ends-at-the-end": "kip-279-an-epoch-that-the-leader-never-had",
    "retention-looks-at-the-log-itself": (
        "who-wrote-the-end-of-a-full-segment-is-known-after-a-start"
    ),
    "readers-look-at-the-log-itself": "a-group-goes-on-after-its-broker-was-killed",
    "a-move-looks-at-the-log-itself": "a-target-that-hangs-does-not-hold-up-the-other-disk-jobs-15",
    "times-are-looked-for-in-the-log-itself": (
        "a-leader-that-finds-no-record-by-its-time-hands-over-at-16"
    ),
    "starts-move-on-the-disks-thread": (
        "a-start-that-retention-moved-is-where-it-was-after-a-power-cut"
    ),
    "checkpoints-gather-on-the-disks-thread": "a-disk-fails-while-nobody-uses-it",
    "cut-without-lending": "acks-one-may-lose-what-the-leader-alone-had",
    "a-follower-takes-what-comes": (
        "a-follower-that-is-sent-a-corrupt-batch-asks-again-and-the-leader-resigns"
    ),
    "eligible-by-todays-value": (
        "a-setting-of-the-leader-alone-commits-nothing-without-who-is-eligible"
    ),
    "a-majority-commits": "what-is-acknowledged-is-on-every-member-of-the-isr",
    "joined-below-the-start": "who-has-not-deleted-yet-does-not-join",
    "ends-outlive-a-leadership": (
        "a-leader-that-has-missed-a-leadership-awaits-what-followers-have-now"
    ),
    "acknowledged-by-who-led": "the-only-replica-moves-away-during-an-append",
    "fetches-of-any-epoch": "kip-320-a-reader-of-another-leader-epoch-is-refused",
    "logs-never-part": "kip-279-an-epoch-that-the-leader-never-had",
    "deleted-by-the-leader-alone": "nothing-is-deleted-while-somebody-away-could-bring-it-back",
    "deleted-by-those-who-live": "nothing-is-deleted-while-somebody-away-could-bring-it-back",
    "deletions-are-answered-early": "nothing-is-deleted-while-somebody-away-could-bring-it-back",
    "a-failed-write-is-acknowledged": "a-write-that-failed-is-not-acknowledged",
    "what-was-found-was-told": "followers-learn-the-high-watermark",
    "offsets-are-told-once": "followers-learn-the-high-watermark",
    "commits-of-any-generation": "a-commit-waits-for-the-in-sync-replicas",
    "commits-of-any-member": "a-commit-of-an-old-generation-is-refused",
    "static-names-do-not-fence": "a-static-member-that-comes-back-goes-on-in-its-generation",
    "a-coordinator-reads-nothing-first": "a-coordinator-that-stood-still-answers-nothing-older",
    "a-coordinator-answers-after-its-lease": "a-coordinator-that-stood-still-answers-nothing-older",
    "commits-outlive-their-topic": (
        "what-was-committed-goes-with-its-topic-though-it-could-not-be-removed"
    ),
    "what-was-not-answered-was-not-sent": "a-write-whose-answer-was-lost-has-one-effect",
    "a-gap-that-a-refusal-made-is-told": "what-follows-a-refused-batch-is-refused-like-it",
    "one-name-is-one-topic": "a-disk-that-comes-back-from-a-backup-has-logs-of-deleted-topics",
    "a-copy-is-not-synced": "a-log-that-has-moved-outlives-a-loss-of-power",
    "a-move-that-failed-leaves-its-copy": "a-move-elsewhere-replaces-the-one-under-way",
    "a-move-never-loses-its-log": "a-move-elsewhere-replaces-the-one-under-way",
    "moves-are-not-resumed": "a-restart-resumes-the-move",
    "a-swap-holds-nobody": "a-swap-that-failed-is-none",
    "a-swap-holds-for-ever": "a-target-that-hangs-does-not-hold-up-the-other-disk-jobs-13",
    "a-candidate-that-dies-is-waited-for": "the-candidate-is-killed-before-it-is-ready",
    "who-is-ready-is-waited-for": ("both-are-killed-before-the-third-could-watch-the-candidate"),
    "the-dead-are-ready": "controller-and-candidate-are-killed-together",
    "who-is-in-sync-is-throttled": "who-is-in-sync-is-not-throttled",
}


@pytest.mark.parametrize("mistake", FOUND_IN)
def test_known_mistakes_are_found_in_conversations(mistake: str) -> None:
    """Each goes against a lesson soon, which holds without it."""
    told = FOUND_IN[mistake]
    seeds = range(1, 1 + SEEDS)
    found = (seed for seed in seeds if not converse(told, seed, control=mistake).passed)
    first = next(found, None)
    assert first is not None, mistake
    assert converse(told, first).passed


def test_every_known_mistake_is_looked_for() -> None:
    """By a world, or by a conversation."""
    assert {*KNOWN} == {*FIRST, *BY_COMMAND, *FOUND_IN}

"""What the world of several brokers has only where it is asked for: `--with NAME`.

Most of these break a promise today. Each becomes part of every world once all promises hold with
it, and the seeds are known that find each wrong rule.
"""

from collections.abc import Mapping
from typing import Final

PENDING: Final[Mapping[str, str]] = {
    "min-isr-of-topic": (
        "a member that is named eligible under one min.insync.replicas is elected under another, "
        "and lacks what was committed meanwhile"
    ),
    "min-isr-of-brokers": "likewise, where the setting of the whole cluster changes",
    "different-min-isr": (
        "brokers whose files name different min.insync.replicas commit by different rules"
    ),
    "number-of-replicas": (
        "acks=all with one replica is answered after another leads, and who is removed while a "
        "growth is cancelled may stay eligible"
    ),
    "unclean-elections": "what follows an unclean election was never tried by chance",
    "busy": (
        "nothing is known: clients send many records at once, and where nothing was acknowledged "
        "for some seconds everything goes on; few of its seeds were tried"
    ),
    "odd-batches": "nothing is known; few of its seeds were tried",
    "plan-by-hand": "nothing is known; few of its seeds were tried",
    "state-by-hand": (
        "a partition whose state was removed is taken for new: whoever lives is in sync"
    ),
    "topic-by-hand": (
        "a topic that cannot be read is taken for deleted, and what groups have committed is lost"
    ),
    "commits-of-topics": (
        "what a group has committed outlives its topic, where no coordinator was there to hear of "
        "the deletion"
    ),
    "deleted-records": "a deletion of records that was acknowledged is undone by an election",
}
"""By name, each with the promise that it breaks."""

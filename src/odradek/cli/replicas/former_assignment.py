"""The assignment before a reassignment, kept until the next one: a cancel restores its order, too.

Kafka's protocol forgets the order of replicas when a reassignment begins, and with it the preferred
leader. The file is one of `kafka-reassign-partitions`, one for each cluster, in
`$XDG_STATE_HOME/odradek/reassignments`.
"""

import os
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from odradek.cli.replicas.reassignment_file import plan_of, text_of
from odradek.cli.words.failing import Failed
from odradek.model.ids import TopicPartition

Assignments = Mapping[TopicPartition, tuple[int, ...]]


def state_folder() -> Path:
    """What verbs keep from one call to another."""
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "odradek"


def path_of(cluster_id: str) -> Path:
    """Where a cluster's is."""
    return state_folder() / "reassignments" / f"{cluster_id}.json"


def former_of(cluster_id: str) -> Assignments:
    """What was kept; nothing, where no file can be read."""
    with suppress(OSError, Failed):
        return plan_of(path_of(cluster_id)).replicas
    return {}


def keep(cluster_id: str, before: Assignments, moving: Collection[TopicPartition]) -> Path | None:
    """Of partitions that are being moved already what was kept stays; None: it cannot be kept."""
    known = former_of(cluster_id)
    kept = {it: replicas for it, replicas in known.items() if it in moving}
    new = {it: replicas for it, replicas in before.items() if it not in moving}
    path = path_of(cluster_id)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        written = path.with_suffix(".new")
        written.write_text(text_of({**kept, **new}))
        written.replace(path)
    except OSError:
        return None
    return path

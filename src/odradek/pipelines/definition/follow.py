"""Going on with a topic that has the name of one that was deleted, at its first record."""

from odradek.pipelines.definition.definition import Definition
from odradek.pipelines.moving.archiving.dead_letters import DeadLetterTable
from odradek.pipelines.moving.opening import DEAD, ROWS, OpenTable
from odradek.pipelines.positions import Positions
from odradek.pipelines.source.offsets import SourceOffsets
from odradek.pipelines.tables.table import Change, NoSuchTable, TableRefused


def follow_new_topics(definition: Definition) -> tuple[str, ...]:
    """The names of the topics that were others; their rows stay, those of the new ones will come.

    The table of dead letters first: after a crash in between it is done again.
    """
    job = definition.archive
    rows = OpenTable(job.table, job.table_options, ROWS)
    if not rows.exists:
        raise NoSuchTable(f"there is no table at {job.table}: the first run makes it")
    now = SourceOffsets(job.source).earliest()
    if isinstance(job.dead_letters, DeadLetterTable):
        letters = OpenTable(job.dead_letters.location, job.dead_letters.options, DEAD)
        if letters.exists:
            _follow(letters, now)
    return _follow(rows, now)


def _follow(opened: OpenTable, now: Positions) -> tuple[str, ...]:
    before = opened.snapshot.positions
    if before.cluster_id and before.cluster_id != now.cluster_id:
        raise TableRefused(
            f"{opened.table.location} holds records of cluster {before.cluster_id}, the brokers "
            f"are of cluster {now.cluster_id}: records of another cluster need another table"
        )
    new = {
        name: topic
        for name, topic in now.topics.items()
        if name in before.topics and before.topics[name].topic_id != topic.topic_id
    }
    if new:
        after = Positions(now.cluster_id, {**before.topics, **new})
        opened.begin_again(Change("follow"), after)
    return tuple(sorted(new))

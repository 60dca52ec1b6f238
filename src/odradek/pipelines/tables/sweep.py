"""Data files that no version of a table names: what a task left that died before its commit.

Only files older than an age go, because a batch that is being written has no commit yet. A batch
must therefore be committed before its first file reaches that age.
"""

from typing import Final

from odradek.pipelines.tables.files import directory_of, is_data_file
from odradek.pipelines.tables.local_store import TEMPORARY
from odradek.pipelines.tables.store import now_ms
from odradek.pipelines.tables.table import Table

ORPHAN_AGE_MS: Final = 24 * 3_600_000
BATCH_AGE_MS_MAX: Final = ORPHAN_AGE_MS // 2
"""Older files are not committed."""


def orphans(table: Table, age_ms: int = ORPHAN_AGE_MS) -> list[str]:
    """Paths of files that nothing needs. They are listed first: commits come meanwhile."""
    directory = directory_of(table.load().properties)
    old = [
        entry.key
        for entry in table.store.list(directory)
        if entry.modified_ms <= now_ms() - age_ms and _is_of_table(entry.key, directory)
    ]
    needed = set(table.referenced())
    return [key for key in old if key not in needed]


def _is_of_table(key: str, directory: str) -> bool:
    """Whether a data file may lie there; the directory of a table may hold other tables, too."""
    if directory:
        return True
    *folders, name = key.split("/")
    is_ours = is_data_file(name) or name.startswith(TEMPORARY)
    return is_ours and all("=" in folder for folder in folders)


def sweep(table: Table, age_ms: int = ORPHAN_AGE_MS) -> int:
    """Deletes them, and says how many there were."""
    found = orphans(table, age_ms)
    table.store.delete(found)
    return len(found)

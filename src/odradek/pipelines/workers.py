"""What a Python worker of Spark does once, so that its further tasks are short.

After each task Spark's worker collects garbage, and walks through every object of every module
that was imported: 40 ms of processor time, more than a small task takes. What is there when the
first task ends stays until the process ends, so the collector is told not to look at it again.
"""

import gc


def end_task() -> None:
    """To be called at the end of a task; only the first call in a process does something."""
    if not gc.get_freeze_count():
        gc.freeze()

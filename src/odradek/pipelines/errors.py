"""What a user of a pipeline can mend, each in one sentence; and the sentence in a trace of Spark's.

Spark hands an exception of a Python worker on as text, inside an exception of its own and behind a
trace. The name of the class in that text is how the sentence is found again.
"""

import re
from typing import Final

DEPTH_MAX: Final = 16


class PipelineError(Exception):
    """A sentence for the user; the command prints it and exits with 1."""


class InvalidOption(PipelineError):
    """An option that is not known, not valid, or that Spark's Kafka source refuses too."""


class DataLoss(PipelineError):
    """Records between two offsets cannot be read any more, or not those that were meant."""


class CorruptData(PipelineError):
    """Bytes that are no batch, or not the bytes that were sent; names partition and offset."""


class Unreachable(PipelineError):
    """No broker answered, or no leader was elected, in the time that is allowed for it."""


class NoJava(PipelineError):
    """No Java that can run Spark, or not enough memory for it."""


class JavaStopped(NoJava):
    """Java ended before Spark began; what it lacks it wrote to its standard error."""


_SENTENCE = re.compile(r"^(?:\S*: )*odradek\.pipelines(?:\.\w+)+: (?P<text>.+)$", re.MULTILINE)


def sentence_of(error: BaseException) -> str | None:
    """The sentence that an error of ours carries, through whatever it was wrapped in; else None."""
    current: BaseException | None = error
    for _ in range(DEPTH_MAX):
        if current is None:
            return None
        if isinstance(current, PipelineError):
            return str(current)
        found = _SENTENCE.findall(str(current))
        if found:
            return str(found[-1]).strip()
        current = current.__cause__ or current.__context__
    return None

"""What a user of a pipeline can mend, each in one sentence; and the sentence in a trace of Spark's.

Spark hands an exception of a Python worker on as text, inside an exception of its own and behind a
trace. The name of the class in that text is how the sentence is found again.
"""

import re
from importlib import import_module
from typing import Final

DEPTH_MAX: Final = 16
LINE_MAX: Final = 300
SKIP_OPTION: Final = "option failOnDataLoss=false"
"""How the source says that records may be left out; commands have words of their own for it."""


class PipelineError(Exception):
    """A sentence for the user; the command prints it and exits with 1."""


class InvalidOption(PipelineError):
    """An option that is not known, not valid, or that Spark's Kafka source refuses too."""


class DataLoss(PipelineError):
    """Records between two offsets cannot be read any more, or not those that were meant."""


class TopicMadeAgain(DataLoss):
    """The topic is another one than the table holds records of, with the same name."""


class TopicTruncated(DataLoss):
    """The table holds records of offsets that the topic has other records at, or will have."""


class CorruptData(PipelineError):
    """Bytes that are no batch, or not the bytes that were sent; names partition and offset."""


class Away(PipelineError):
    """Something that a run needs does not answer; later it may, and a run that has begun waits."""


class Unreachable(Away):
    """No broker answered, or no leader was elected, in the time that is allowed for it."""


class Fenced(PipelineError):
    """Another driver goes on with this transactional id, or the transaction took too long."""


class NothingCompared(PipelineError):
    """Two sides have nothing in common: that is no proof that they are equal."""


class NoJava(PipelineError):
    """No Java that can run Spark, or not enough memory for it."""


class JavaStopped(NoJava):
    """Java ended before Spark began; what it lacks it wrote to its standard error."""


_SENTENCE = re.compile(
    r"^(?:\S*: )*(?P<module>odradek\.pipelines(?:\.\w+)*)\.(?P<name>\w+): (?P<text>.+)$",
    re.MULTILINE,
)


def error_of(error: BaseException) -> PipelineError | None:
    """The error of ours that an error carries, through whatever it was wrapped in; else None."""
    current: BaseException | None = error
    for _ in range(DEPTH_MAX):
        if current is None:
            return None
        if isinstance(current, PipelineError):
            return current
        found = list(_SENTENCE.finditer(str(current)))
        if found:
            return _class_of(found[-1])(found[-1]["text"].strip())
        current = current.__cause__ or current.__context__
    return None


def sentence_of(error: BaseException) -> str | None:
    """What the error of ours says that an error carries."""
    found = error_of(error)
    return None if found is None else str(found)


def one_sentence(error: BaseException) -> str:
    """Of an error of ours what it says; of another, which Spark's trace follows, its first line."""
    ours = sentence_of(error)
    if ours is not None:
        return ours
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:LINE_MAX]}" if lines else type(error).__name__


def _class_of(found: re.Match[str]) -> type[PipelineError]:
    try:
        kind = getattr(import_module(found["module"]), found["name"], PipelineError)
    except ImportError:
        return PipelineError
    is_ours = isinstance(kind, type) and issubclass(kind, PipelineError)
    return kind if is_ours else PipelineError

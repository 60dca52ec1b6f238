"""What the tasks of a sink that writes exactly once do, and what they answer.

A mistake of ours or of the user's is an answer and no failure of the task: Spark would run the task
again, and that attempt could only say that it is one.
"""

import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from odradek.client.blocking.transactional_producer import BlockingTransactionalProducer
from odradek.client.records.transaction_requests import V1, TransactionalIdentity
from odradek.pipelines.connections import client_of
from odradek.pipelines.errors import PipelineError
from odradek.pipelines.sink.options import SinkOptions
from odradek.pipelines.sink.sending import SETTINGS
from odradek.pipelines.sink.transactions import AttemptedTwice

SPECULATION: Final = "spark.speculation"
AGAIN: Final = "Spark ran a task again that sends records: a worker, an executor or a task failed"
"""What Spark's own log says of that is the reason."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Of one task: what it did, or why it did not."""

    stage: int
    done: Any = None
    error: PipelineError | None = None


def refuse_speculation(spark: Any) -> None:
    """PipelineError where Spark may run two attempts of a task at the same time."""
    if spark.conf.get(SPECULATION, "false") == "true":
        raise PipelineError(
            f"exactlyOnce and {SPECULATION} exclude each other: of two attempts that send at the "
            "same time nobody knows whose records are there"
        )


def producer_for(
    options: SinkOptions, identity: TransactionalIdentity
) -> BlockingTransactionalProducer:
    """One that goes on as the driver's."""
    client = client_of(options.client)
    producer = client.transactional_producer(identity.transactional_id, V1, SETTINGS)
    producer.go_on_as(identity)
    return producer


def answer_of(work: Callable[[], Any]) -> bytes:
    """Does the work, if this is the first attempt of the task that Spark runs here."""
    context = task_context()
    stage = context.stageId()
    if context.attemptNumber() > 0:
        return pickle.dumps(Answer(stage, error=AttemptedTwice(AGAIN)))
    try:
        return pickle.dumps(Answer(stage, work()))
    except PipelineError as error:
        return pickle.dumps(Answer(stage, error=error))


def read_answers(answers: list[bytes]) -> list[Answer]:
    """All of them; raises what one says that cannot be mended, else that a task ran again."""
    found: list[Answer] = [pickle.loads(it) for it in answers]  # noqa: S301 - our tasks'
    errors = [it.error for it in found if it.error is not None]
    for error in sorted(errors, key=lambda it: isinstance(it, AttemptedTwice)):
        raise error
    return found


def task_context() -> Any:
    """Of the task that runs in this process."""
    from pyspark import TaskContext

    return TaskContext.get()

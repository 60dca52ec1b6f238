"""`foreachBatch` with `exactly_once`: each micro-batch in one transaction. Without Spark itself."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pytest
from pyspark.sql.types import StringType, StructField, StructType

from odradek.client.blocking.client import BlockingClient
from odradek.client.records.group_offsets import Note
from odradek.client.records.offsets import LATEST
from odradek.client.records.transaction_requests import TransactionalIdentity
from odradek.model.ids import TopicPartition as Place
from odradek.pipelines.errors import Fenced, InvalidOption, PipelineError
from odradek.pipelines.exactly_once import ExactlyOnce, Order, exactly_once
from odradek.pipelines.sink.options import parse
from odradek.pipelines.sink.sending import TopicSender
from odradek.pipelines.sink.tasks import answer_of, producer_for, read_answers
from odradek.pipelines.sink.transactions import (
    Attempt,
    AttemptedTwice,
    Notes,
    Transactions,
)
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.exactly_once_kills import kill_at_steps, kill_spark, options_of
from tests.pipelines.local_frame import SCHEMA, LocalFrame, LocalSession, frame_of
from tests.pipelines.reading import committed
from tests.pipelines.topics import Topics

Writers = Callable[..., ExactlyOnce]
PREFIX: Final = "query of "


@pytest.fixture
def topic(topics: Topics) -> str:
    """Three empty partitions."""
    return topics.make(partitions=3)


@pytest.fixture
def session(topic: str) -> LocalSession:
    """In which a query runs."""
    return LocalSession(PREFIX + topic)


@pytest.fixture
def writer(topics: Topics, topic: str) -> Iterator[Writers]:
    """Makes the functions of drivers, and closes them."""
    with ExitStack() as stack:
        yield lambda **more: stack.enter_context(
            closing(
                exactly_once({**options_of(topics.bootstrap, more.pop("topic", topic)), **more})
            )
        )


@pytest.fixture
def drivers(topics: Topics, topic: str) -> Iterator[list[Transactions]]:
    """Two, with the same transactional id."""
    both = [Transactions(parse(options_of(topics.bootstrap, topic))) for _ in range(2)]
    yield both
    for it in both:
        it.close()


def send(driver: Transactions, identity: TransactionalIdentity, number: int) -> None:
    """One record, as a task would."""
    producer = producer_for(driver.options, identity)
    assert driver.options.topic is not None
    sender = TopicSender(driver.options, producer)
    sender.send(frame_of(LocalSession("q"), [number], 1).parts[0][0])
    sender.finish()


def named(frame: LocalFrame, topic_of: Callable[[int], str]) -> LocalFrame:
    """Rows with the topic that each shall go to."""

    def with_names(batch: pa.RecordBatch) -> pa.RecordBatch:
        names = [topic_of(int(it)) for it in batch.column("value").to_pylist()]
        return batch.append_column("topic", pa.array(names, pa.string()))

    parts = [[with_names(it) for it in part] for part in frame.parts]
    schema = StructType([*SCHEMA.fields, StructField("topic", StringType())])
    return replace(frame, parts=parts, schema=schema)


class Killed(BaseException):
    """No cleaning up."""


def test_a_batch_that_is_begun_again_is_recognised(
    topics: Topics, topic: str, writer: Writers, session: LocalSession
) -> None:
    """By the next driver, too: the number was committed with the records, as a group's offset."""
    writer()(frame_of(session, range(100)), 0)
    again = writer()
    again(frame_of(session, range(100)), 0)
    again(frame_of(session, range(100, 150)), 1)
    again(frame_of(session, range(100, 150)), 1)
    assert committed(topics, topic) == list(range(150))
    with BlockingClient(topics.bootstrap) as client:
        note = client.notes(topic, [Place(topic, 0)])[Place(topic, 0)]
    assert note == (2, session.query)


def test_rows_of_several_topics_are_seen_together(
    topics: Topics, topic: str, writer: Writers, session: LocalSession
) -> None:
    """Each in the topic that it names: dead letters beside the rest, in one transaction.

    A topic that is named since has no note, and the batch is recognised all the same. A row that
    names another one ends the batch, and nothing is seen of it.
    """
    dead, third, fourth = topics.make("dead", 2), topics.make("third"), topics.make("fourth")
    name = {"kafka.transactional.id": topic, "exactlyOnce": "true"}
    given = {"kafka.bootstrap.servers": topics.bootstrap, **name}

    def to_both(numbers: range) -> LocalFrame:
        return named(frame_of(session, numbers), lambda it: topic if it % 7 else dead)

    with closing(exactly_once({**given, "topics": f"{topic}, {dead}"})) as first:
        first(to_both(range(100)), 0)
    with closing(exactly_once({**given, "topics": f"{third},{dead},{topic}"})) as again:
        again(to_both(range(100)), 0)
        with pytest.raises(PipelineError, match="which the option 'topics' does not name"):
            again(named(frame_of(session, range(100, 120)), lambda _: fourth), 1)
        again(to_both(range(100, 120)), 1)
    assert committed(topics, dead) == list(range(0, 120, 7))
    assert committed(topics, topic) == [it for it in range(120) if it % 7]


def test_a_driver_that_dies_before_the_end_leaves_nothing(
    topics: Topics, topic: str, drivers: list[Transactions]
) -> None:
    """Its records are aborted by the next one, which finds nothing noted."""
    first, second = drivers
    place = Place(topic, 0)

    def die(_: Notes, identity: TransactionalIdentity) -> Notes | None:
        send(first, identity, 1)
        raise Killed

    def live(notes: Notes, identity: TransactionalIdentity) -> Notes | None:
        assert not notes
        send(second, identity, 2)
        return {place: Note(1, "q")}

    with pytest.raises(Killed):
        first.once([place], die)
    assert second.once([place], live)
    assert committed(topics, topic) == [2]


def test_a_second_driver_fences_the_first(
    topics: Topics, topic: str, drivers: list[Transactions]
) -> None:
    """The first one's end is refused, whatever it has sent, and it stops."""
    first, second = drivers
    place = Place(topic, 0)

    def sends(driver: Transactions, number: int) -> Attempt:
        def attempt(_: Notes, identity: TransactionalIdentity) -> Notes | None:
            send(driver, identity, number)
            if driver is first:
                second.once([place], sends(second, 2))
            return {place: Note(number, "q")}

        return attempt

    with pytest.raises(Fenced, match="has taken over"):
        first.once([place], sends(first, 1))
    assert committed(topics, topic) == [2]


def test_a_task_of_a_fenced_driver_is_refused(
    topics: Topics, topic: str, drivers: list[Transactions]
) -> None:
    """Wherever it runs still; and its driver does not begin again, which would fence the other."""
    first, second = drivers
    begun = []

    def attempt(_: Notes, identity: TransactionalIdentity) -> Notes | None:
        begun.append(identity)
        second.once([], lambda _notes, _identity: None)
        send(first, identity, 1)
        return {}

    with pytest.raises(Fenced):
        first.once([], attempt)
    assert len(begun) == 1
    assert committed(topics, topic) == []


def test_a_task_that_runs_again_begins_the_batch_again(
    topics: Topics, topic: str, session: LocalSession, drivers: list[Transactions]
) -> None:
    """Under a new epoch: what its first attempt has sent is seen by nobody."""
    first, _ = drivers
    failing = {0, 1}
    epochs = []

    def attempt(_: Notes, identity: TransactionalIdentity) -> Notes | None:
        epochs.append(identity.producer_epoch)

        def sent() -> int:
            send(first, identity, len(epochs))
            if len(epochs) in failing:
                raise OSError("the worker is gone")
            return 1

        def work(_rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield pa.RecordBatch.from_pydict({"answer": [answer_of(sent)]})

        frame = frame_of(session, [7], 1).mapInArrow(work, "answer binary")
        read_answers([row[0] for row in frame.collect()])
        return {}

    assert first.once([], attempt)
    assert epochs == sorted(set(epochs))
    assert committed(topics, topic) == [2]


def test_a_stage_that_runs_again_begins_the_batch_again(
    topics: Topics, topic: str, writer: Writers, session: LocalSession
) -> None:
    """There attempts of tasks are counted from 0 again, so the driver asks Spark for the stage."""
    session.stage_attempts[2] = 1
    writer()(frame_of(session, range(30)), 0)
    assert not session.stage_attempts
    assert committed(topics, topic) == list(range(30))


def test_it_ends_where_tasks_always_run_again(
    topics: Topics, topic: str, writer: Writers, session: LocalSession
) -> None:
    """After some attempts, with nothing seen."""
    session.stage_attempts.update(dict.fromkeys(range(20), 1))
    with pytest.raises(AttemptedTwice, match="ran a task again"):
        writer()(frame_of(session, range(30)), 0)
    assert committed(topics, topic) == []


def test_partitions_that_are_added_between_batches_are_used(
    topics: Topics, topic: str, writer: Writers, session: LocalSession
) -> None:
    """From the next batch on, by all tasks of it."""
    work = writer()
    work(frame_of(session, range(100)), 0)
    topics.widen(topic, 5)
    work(frame_of(session, range(100, 300)), 1)
    assert committed(topics, topic) == list(range(300))
    with BlockingClient(topics.bootstrap) as client:
        ends = client.offsets({Place(topic, it): LATEST for it in range(5)})
    assert all(it.offset for it in ends.values())


def test_a_broker_that_is_killed_is_waited_for(tmp_path: Path) -> None:
    """Between the batches of a transaction and its end; the coordinator has all of it on disk."""
    broker = OdradekBroker(tmp_path / "broker")
    broker.start()
    topics = Topics(broker.bootstrap, "killed")
    topic = topics.make(partitions=2)
    driver = Transactions(parse(options_of(topics.bootstrap, topic)))
    place = Place(topic, 0)

    def attempt(_: Notes, identity: TransactionalIdentity) -> Notes | None:
        send(driver, identity, 1)
        broker.kill()
        broker.start()
        return {place: Note(1, "q")}

    assert driver.once([place], attempt)
    assert committed(topics, topic) == [1]
    assert not driver.once([place], lambda notes, _: None if notes[place].position else {})
    driver.close()
    broker.stop()


@pytest.mark.parametrize(
    "case",
    [
        (0, "another", "is that of another query"),
        (1, None, "its checkpoint is at batch 1: it is older"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused(
    topics: Topics, writer: Writers, session: LocalSession, case: tuple[int, str | None, str]
) -> None:
    """A new one counts from 0 again, and would have its first batches taken for repeats."""
    batch, query, said = case
    topic = session.query.removeprefix(PREFIX)
    work = writer()
    for number in range(4):
        work(frame_of(session, [number]), number)
    session.query = query or session.query
    with pytest.raises(PipelineError, match=said):
        work(frame_of(session, [9]), batch)
    assert committed(topics, topic) == [0, 1, 2, 3]


def test_rows_that_cannot_be_sent_leave_nothing(
    topics: Topics, topic: str, writer: Writers, session: LocalSession
) -> None:
    """The sentence is that of the task, and no other attempt is made."""
    tiny = topics.make("tiny", max_message_bytes="100")
    with pytest.raises(PipelineError, match=r"max\.message\.bytes"):
        writer(topic=tiny)(frame_of(session, range(100)), 0)
    with pytest.raises(PipelineError, match="'never-made' does not exist"):
        writer(topic="never-made")(frame_of(session, [1]), 0)
    assert committed(topics, tiny) == []
    del topic


def test_what_is_refused(
    topics: Topics, topic: str, writer: Writers, session: LocalSession
) -> None:
    """Each in a sentence, before anything is sent."""
    good = options_of(topics.bootstrap, topic)
    for name, said in (("kafka.transactional.id", "a name that this"), ("topic", "one topic has")):
        with pytest.raises(InvalidOption, match=said):
            exactly_once({key: value for key, value in good.items() if key != name})
    with pytest.raises(InvalidOption, match="needs either the option 'topic'"):
        exactly_once({**good, "topics": "a,b"})
    with pytest.raises(InvalidOption, match="option 'topics': without exactlyOnce=true"):
        parse({"kafka.bootstrap.servers": topics.bootstrap, "topics": "a,b"})
    with pytest.raises(InvalidOption, match=r"option 'topics': .*'a b'"):
        parse({"kafka.bootstrap.servers": topics.bootstrap, "topics": "a b"})
    with pytest.raises(InvalidOption, match="needs the option exactlyOnce"):
        exactly_once({"kafka.bootstrap.servers": topics.bootstrap, "topic": topic})
    too_long = writer(**{"kafka.transaction.timeout.ms": "900001"})
    with pytest.raises(PipelineError, match=r"transaction\.max\.timeout\.ms"):
        too_long(frame_of(session, [1]), 0)
    session.speculation = "true"
    with pytest.raises(PipelineError, match="exclude each other"):
        writer()(frame_of(session, [1]), 0)


def test_batches_in_another_order_are_refused() -> None:
    """Those of one task for one partition; others may come between."""
    order = Order()
    for target, source, number in ((0, 0, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1), (0, 1, 1)):
        order.check(target, source, number)
    with pytest.raises(PipelineError, match="another order"):
        order.check(0, 0, 3)


def test_a_driver_that_is_killed_at_any_step(topics: Topics, tmp_path: Path) -> None:
    """The next one ends what it has begun. Its module kills fifty."""
    kill_at_steps(topics, tmp_path, kills=6)


def test_a_query_of_sparks_that_is_killed(topics: Topics, tmp_path: Path) -> None:
    """Its Java is not, and goes on for a moment; workers die before it. Its module kills fifty."""
    kill_spark(topics, tmp_path, kills=3)

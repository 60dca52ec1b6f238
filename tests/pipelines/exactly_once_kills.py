"""Drivers of a sink that writes exactly once, killed at every step, and what a reader then finds.

`python -m tests.pipelines.exactly_once_kills --kills 50` kills drivers that have all but Spark, at
steps that lie evenly between the first and the last; `--spark` kills those of one query of Spark's,
whose Java and Python workers go on for a moment. CI does few of each.
"""

import argparse
import multiprocessing
import random
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Final

from odradek.pipelines.exactly_once import exactly_once
from tests.compat.broker_process import OdradekBroker
from tests.pipelines.local_frame import LocalSession, frame_of
from tests.pipelines.mortal import Mortal, processes
from tests.pipelines.reading import committed
from tests.pipelines.streams import run_stream
from tests.pipelines.topics import Topics

WATCHED: Final = (
    "odradek/pipelines/exactly_once",
    "odradek/pipelines/sink/transactions",
    "odradek/client/blocking_transactional",
    "odradek/client/transaction_requests",
    "exactly_once_kills",
)
TOTAL: Final = 120
BATCH: Final = 60
SPARK_BATCH: Final = 50
SPARK_STEPS: Final = 160
"""Of a life, at most: some micro-batches."""


def options_of(bootstrap: str, topic: str) -> dict[str, str]:
    """Of a sink whose transactional id is named like its topic."""
    return {
        "kafka.bootstrap.servers": bootstrap,
        "topic": topic,
        "exactlyOnce": "true",
        "kafka.transactional.id": topic,
    }


def move(  # noqa: PLR0917 - the arguments of a process
    bootstrap: str, topic: str, checkpoint: str, kill_at: int | None, said: str
) -> None:
    """The life of a driver: numbers into a topic, with a checkpoint as Spark keeps it."""
    mortal = Mortal(kill_at, WATCHED)
    sys.setprofile(mortal)
    work, session, place = (
        exactly_once(options_of(bootstrap, topic)),
        LocalSession("q"),
        Path(checkpoint),
    )
    while (start := BATCH * (number := len(list(place.iterdir())))) < TOTAL:
        work(frame_of(session, range(start, start + BATCH)), number)
        commit(place, number)
    sys.setprofile(None)
    work.close()
    Path(said).write_text(str(mortal.calls), encoding="utf-8")


def commit(checkpoint: Path, number: int) -> None:
    """As Spark does once `foreachBatch` has returned."""
    (checkpoint / str(number)).touch()


def lived(topics: Topics, topic: str, folder: Path, kill_at: int | None) -> int:
    """One life: how many steps it had, if it was not killed. It may end before that step."""
    said, checkpoint = folder / f"{topic}.steps", folder / topic
    checkpoint.mkdir(exist_ok=True)
    process: multiprocessing.process.BaseProcess = processes.Process(
        target=move, args=(topics.bootstrap, topic, str(checkpoint), kill_at, str(said))
    )
    process.start()
    process.join()
    assert process.exitcode in ({0} if kill_at is None else {0, -9}), process.exitcode
    return int(said.read_text()) if kill_at is None else 0


def kill_at_steps(topics: Topics, folder: Path, kills: int) -> None:
    """Each time a driver is killed, and the next one ends what it has begun."""
    steps = lived(topics, topics.make("alive", 2), folder, None)
    for number in range(kills):
        step = 1 + number * (steps - 1) // max(kills - 1, 1)
        topic = topics.make(f"killed-{step}", 2)
        lived(topics, topic, folder, step)
        lived(topics, topic, folder, None)
        assert committed(topics, topic) == list(range(TOTAL)), step


def move_with_spark(  # noqa: PLR0917 - the arguments of a process
    bootstrap: str, source: str, target: str, checkpoint: str, kill_at: int
) -> None:
    """The life of a query; 0: until it has moved all that there is."""
    from odradek.pipelines import session

    spark = session("local[2]", conf={"spark.driver.memory": "1g"})
    spark.sparkContext.setLogLevel("OFF")
    if kill_at:
        threading.setprofile(Mortal(kill_at, WATCHED))
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": source,
        "startingOffsets": "earliest",
        "maxOffsetsPerTrigger": str(SPARK_BATCH),
    }
    rows = spark.readStream.format("odradek").options(**options).load().select("key", "value")
    writer = rows.writeStream.foreachBatch(exactly_once(options_of(bootstrap, target)))
    run_stream(writer.option("checkpointLocation", checkpoint).trigger(availableNow=True).start)
    spark.stop()


def kill_spark(topics: Topics, folder: Path, kills: int) -> None:
    """One query, which is started again after each kill; at last it moves all that is left."""
    source, target = topics.make("source", 2), topics.make("target", 3)
    count = SPARK_BATCH * 3 * (kills + 1)
    for partition in range(2):
        topics.fill_numbers(source, count // 2, partition=partition, first=partition * count // 2)
    chance = random.Random(kills)
    for life in range(kills + 1):
        step = 0 if life == kills else chance.randrange(1, SPARK_STEPS)
        call = [topics.bootstrap, source, target, str(folder / "checkpoint"), str(step)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.pipelines.exactly_once_kills", "--life", *call],
            check=False,
            capture_output=True,
        )
        assert done.returncode in ({0, -9} if step else {0}), (step, done.stderr[-2_000:])
        print(f"life {life} ended at step {step}", flush=True)
    assert committed(topics, target) == list(range(count))


def main() -> None:
    """Kills so often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--life", nargs=5, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.life:
        bootstrap, source, target, checkpoint, step = chosen.life
        move_with_spark(bootstrap, source, target, checkpoint, int(step))
        return
    with tempfile.TemporaryDirectory() as folder:
        broker = OdradekBroker(Path(folder) / "broker")
        broker.start()
        kill = kill_spark if chosen.spark else kill_at_steps
        kill(Topics(broker.bootstrap, "kills"), Path(folder), chosen.kills)
        broker.stop()
    print(f"{chosen.kills} kills, the topic equal to the source")


if __name__ == "__main__":
    main()

"""Drivers of a sink that writes exactly once, killed at every step, and what a reader then finds.

`python -m tests.pipelines.exactly_once_kills --kills 50` kills drivers that have all but Spark, at
steps that lie evenly between the first and the last; `--spark` kills those of one query of Spark's,
whose Java and Python workers go on for a moment, and workers in their tasks. The first driver and
each third one die at moments that are drawn, the others at each step by its name; workers at each
step first, and then at drawn moments. CI does few of each.
"""

import argparse
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from itertools import chain, count, islice
from pathlib import Path
from typing import Any, Final

from odradek.pipelines.exactly_once import exactly_once
from tests.compat.broker_process import OdradekBroker
from tests.pipelines import doomed
from tests.pipelines.doomed import Death, Doomed
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
LINES: Final = "lines"
FILE: Final = 25
"""So many lines; a micro-batch has two files, and two tasks that read."""
FILES_OF_A_LIFE: Final = 8
DEATHS: Final = "deaths"
MASTERS: Final = ("local[2]", "local[2,4]")
"""In the second one Spark runs a task again whose worker has died; else the driver begins again."""
DRAWN_ONE_IN: Final = 3
"""Of lives: how many end at a drawn moment."""
WORKERS_OF_A_LIFE: Final = (2, 0, 1, 0, 1, 2, 1, 2, 0)
"""In turn, with drawn ends and with others. All in one micro-batch at worst: a fourth time it does
not begin again."""
DRIVER_STEPS: Final = [
    death
    for calls in (1, 2)
    for death in (
        Death(doomed.DRIVER_DIES, "_begin", calls),  # before InitProducerId
        Death(doomed.DRIVER_DIES, "attempt", calls),  # behind it, and nothing is sent
        Death(doomed.DRIVER_DIES_UNDER_A_TASK, "_begin_to_send", calls),
        Death(doomed.DRIVER_DIES_UNDER_A_TASK, "check", calls + 1),  # between two writes
        Death(doomed.DRIVER_DIES, "check_stages", calls),  # all is sent
        Death(doomed.DRIVER_DIES, "commit_offsets", calls),
        Death(doomed.DRIVER_DIES, "commit", calls),  # before EndTxn
        Death(doomed.DRIVER_DIES, "written", calls),  # behind it, before Spark's checkpoint
    )
]
TASK_STEPS: Final = [
    Death(doomed.WORKER_DIES, step, calls)
    for more in (0, 1)
    for step, calls in (
        ("take", 1 + more),  # batches are made
        ("answer_of", 1 + more),
        ("go_on_as", 1),
        ("add", 1 + more),  # before AddPartitionsToTxn
        ("_begin_to_send", 1 + more),
        ("check", 2 + more),  # between two writes
        ("flush", 3 + more),  # all is written, nothing acknowledged yet
    )
]
DRIVER_CALLS: Final = 100
TASK_CALLS: Final = 60
"""At most, where the moment of a death is drawn: some micro-batches."""


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


def move_with_spark(bootstrap: str, target: str, folder: Path, master: str) -> None:
    """The life of a query, until all that there is has been moved, or it is killed."""
    from odradek.pipelines import session

    deaths = folder / DEATHS
    os.environ.update({doomed.FOLDER: str(deaths), doomed.DRIVER: str(os.getpid())})
    conf = {"spark.driver.memory": "1g", "spark.python.daemon.module": doomed.MODULE}
    spark = session(master, conf=conf)
    spark.sparkContext.setLogLevel("OFF")
    threading.setprofile(Doomed(deaths, doomed.DRIVER_DIES))
    lines = spark.readStream.option("maxFilesPerTrigger", 2).text(str(folder / LINES))
    rows = lines.selectExpr("value", "'key-' || substr(value, -2) key")
    write = exactly_once(options_of(bootstrap, target))

    def work(frame: Any, batch: int) -> None:
        write(frame, batch)
        written()

    writer = rows.writeStream.foreachBatch(work).option("checkpointLocation", str(folder / "c"))
    run_stream(writer.trigger(availableNow=True).start)
    spark.stop()


def written() -> None:
    """A micro-batch's transaction has ended, and Spark's checkpoint knows nothing of it yet."""


def deaths_of(kills: int) -> Iterator[list[Death]]:
    """Of each life: some of its workers die, and then its driver; so many in all."""
    chance = random.Random(kills)
    of_driver = iter(DRIVER_STEPS)
    of_task = chain(TASK_STEPS, _drawn(chance, doomed.WORKER_DIES, TASK_CALLS))
    drawn = _drawn(chance, doomed.DRIVER_DIES, DRIVER_CALLS)
    for life in count():
        if not kills:
            return
        workers = min(WORKERS_OF_A_LIFE[life % len(WORKERS_OF_A_LIFE)], kills - 1)
        step = next(of_driver, None) if life % DRAWN_ONE_IN else None
        yield [*islice(of_task, workers), step or next(drawn)]
        kills -= workers + 1


def _drawn(chance: random.Random, who: str, calls: int) -> Iterator[Death]:
    while True:
        yield Death(who, "", chance.randrange(1, calls))


def kill_spark(topics: Topics, folder: Path, kills: int) -> None:
    """One query, which is started again after each kill; at last it moves all that is left."""
    target, lives = topics.make("target", 3), [*deaths_of(kills), []]
    numbers = range(FILE * FILES_OF_A_LIFE * len(lives))
    (folder / LINES).mkdir()
    for first in numbers[::FILE]:
        lines = "\n".join(map(str, numbers[first : first + FILE]))
        (folder / LINES / f"{first:06}").write_text(lines, encoding="utf-8")
    for life, deaths in enumerate(lives):
        doomed.doom(folder / DEATHS, deaths)
        call = [topics.bootstrap, target, str(folder), MASTERS[life % len(MASTERS)]]
        done = subprocess.run(
            [sys.executable, "-m", "tests.pipelines.exactly_once_kills", "--life", *call],
            check=False,
            capture_output=True,
        )
        assert done.returncode == (-9 if deaths else 0), (deaths, done.stderr[-2_000:])
        assert not list((folder / DEATHS).iterdir()), deaths
        print(f"life {life}: {', '.join(map(str, map(tuple, deaths)))}", flush=True)
    assert committed(topics, target) == list(numbers)


def main() -> None:
    """Kills so often."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--life", nargs=4, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.life:
        bootstrap, target, folder, master = chosen.life
        move_with_spark(bootstrap, target, Path(folder), master)
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

"""What one record costs the loop in a fetch session of 1,000 partitions.

Bar: 1.5 ms, from the wake of the fetch that waits to its answer, and the request that follows.
"""

import logging
import statistics
import sys
from pathlib import Path
from time import perf_counter

import structlog

sys.path.insert(0, str(Path(__file__).parent.parent))  # the ground of the unit tests

from odradek.broker.fetching.pending_fetches import Fetch
from odradek.model.ids import TopicPartition
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from tests.unit.broker.fetch_ground import Asked, Reading, live
from tests.unit.broker.ground import TOPIC_ID

PARTITIONS = 1_000
ROUNDS = 200


async def talk(t: Reading) -> None:
    """A consumer with a session waits; a record is committed; it asks again."""
    spent = 0.0
    look = Fetch._look_again  # noqa: SLF001 - its time is what is measured

    def timed(fetch: Fetch) -> None:
        nonlocal spent
        started = perf_counter()
        look(fetch)
        spent += perf_counter() - started

    Fetch._look_again = timed  # type: ignore[method-assign]  # noqa: SLF001
    partitions = [TopicPartition("orders", number) for number in range(PARTITIONS)]
    await t.lead(*partitions)
    wanted = [FetchPartition(it, -1, 0, -1, -1, 1 << 20) for it in range(PARTITIONS)]
    first = t.ask(request(wanted))
    number = first.answered.session_id
    times = []
    for offset in range(ROUNDS):
        spent = 0.0
        started = perf_counter()
        changed = [FetchPartition(7, -1, offset, -1, -1, 1 << 20)] if offset else []
        waiting = t.ask(request(changed, number, offset + 1, wait=9_000))
        spent += perf_counter() - started
        await t.append("one", partition=partitions[7])
        await committed(t, waiting)
        times.append(spent * 1e3)
    times.sort()
    report = f"min {times[0]:.3f}, median {statistics.median(times):.3f}, max {times[-1]:.3f} ms"
    print(f"one record in a session of {PARTITIONS} partitions: {report}")


async def committed(t: Reading, waiting: Asked) -> None:
    """Both followers have the record."""
    led = t.replicas.led(TopicPartition("orders", 7))
    led.log.on_high_watermark(led.log.log_end_offset)
    led.readers.on_high_watermark()
    await t.turn()
    assert waiting.response is not None


def request(
    wanted: list[FetchPartition], number: int = 0, epoch: int = 0, wait: int = 0
) -> FetchRequest:
    """Of a consumer."""
    return FetchRequest(
        max_wait_ms=wait,
        min_bytes=1,
        session_id=number,
        session_epoch=epoch,
        topics=[FetchTopic("", TOPIC_ID, wanted)] if wanted else [],
    )


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    live(talk)

"""What a stopped broker costs its controller: 10,000 partitions that change ten times.

Bars: 50 MB in all. Time is that of one change of all partitions, merged into what waits, and of
building and encoding what goes out in the end.
"""

import statistics
import time
import tracemalloc
from collections.abc import Callable
from functools import partial

from odradek.model.positions import BrokerEpoch
from odradek.peers.control_message import ControlMessage
from odradek.peers.control_queue import ControlQueue, Sender
from odradek.wire.messages.leader_and_isr import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from odradek.wire.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

TOPICS = 100
PARTITIONS = 100  # of each topic
CHANGES = 10
ROUNDS = 5
SENDER = Sender(1, 7)


def leader_and_isr(epoch: int) -> ControlMessage:
    """Of every partition; its rows are its own, as they are when a state has changed."""
    topics = [
        LeaderAndIsrTopicState(
            f"topic-{topic}",
            topic.to_bytes(16, "big"),
            [
                LeaderAndIsrPartitionState(
                    partition_index=number,
                    controller_epoch=7,
                    leader=epoch % 3,
                    leader_epoch=epoch,
                    isr=(0, 1, 2),
                    partition_epoch=epoch,
                    replicas=(0, 1, 2),
                )
                for number in range(PARTITIONS)
            ],
        )
        for topic in range(TOPICS)
    ]
    leaders = [LeaderAndIsrLiveLeader(it, f"b{it}", 9092) for it in range(3)]
    request = LeaderAndIsrRequest(controller_id=1, controller_epoch=7)
    request.topic_states, request.live_leaders = topics, leaders
    return ControlMessage(request)


def metadata(epoch: int) -> ControlMessage:
    """Likewise."""
    topics = [
        UpdateMetadataTopicState(
            f"topic-{topic}",
            topic.to_bytes(16, "big"),
            [
                UpdateMetadataPartitionState(
                    partition_index=number,
                    controller_epoch=7,
                    leader=epoch % 3,
                    leader_epoch=epoch,
                    isr=(0, 1, 2),
                    zk_version=epoch,
                    replicas=(0, 1, 2),
                )
                for number in range(PARTITIONS)
            ],
        )
        for topic in range(TOPICS)
    ]
    brokers = [UpdateMetadataBroker(it) for it in range(3)]
    request = UpdateMetadataRequest(controller_id=1, controller_epoch=7)
    request.topic_states, request.live_brokers = topics, brokers
    return ControlMessage(request)


def filled() -> ControlQueue:
    """What has gathered before a broker that answers nothing."""
    queue = ControlQueue(SENDER)
    for epoch in range(CHANGES):
        queue.add(leader_and_isr(epoch))
        queue.add(metadata(epoch))
    return queue


def encode_all(queue: ControlQueue) -> int:
    """All that goes out when it answers again: so many bytes."""
    total = 0
    while (message := queue.take()) is not None:
        total += sum(map(len, message.encoded_for(BrokerEpoch(5)).body))
    return total


def milliseconds(call: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    call()
    return (time.perf_counter() - began) * 1_000


def show(what: str, times: list[float]) -> None:
    """One line."""
    low, middle, high = min(times), statistics.median(times), max(times)
    print(f"{what:42} {low:8.1f} {middle:8.1f} {high:8.1f} ms")


def main() -> None:
    """Memory first, then times: tracing makes everything slow."""
    tracemalloc.start()
    queue = filled()
    kept, _ = tracemalloc.get_traced_memory()
    size = encode_all(queue)
    tracemalloc.stop()
    print(f"{TOPICS * PARTITIONS} partitions, {CHANGES} changes before a stopped broker")
    print(f"{'waiting':42} {kept / 1e6:8.1f} MB (bar: 50)")
    print(f"{'on the wire':42} {size / 1e6:8.1f} MB")
    lead, about = leader_and_isr(1), metadata(1)
    changed, encoded, shared = [], [], []
    for _ in range(ROUNDS):
        queue = filled()

        def change(queue: ControlQueue = queue) -> None:
            queue.add(lead)
            queue.add(about)

        changed.append(milliseconds(change))
        encoded.append(milliseconds(partial(encode_all, queue)))
        lead.encoded_for(BrokerEpoch(1))
        shared.append(milliseconds(partial(lead.encoded_for, BrokerEpoch(5))))
    show("one more change of all, merged", changed)
    show("building and encoding what waits", encoded)
    show("the same message for one more broker", shared)


if __name__ == "__main__":
    main()

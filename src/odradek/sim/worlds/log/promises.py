"""What a log promises its writers and readers, whatever happens to its machine and its disks."""

from collections import defaultdict
from typing import ClassVar

from odradek.model.ids import TopicPartition
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant


class Rot:
    """Which logs a bit has turned in, and from which segment on nothing of them is sure."""

    def __init__(self) -> None:
        self._from: dict[str, int] = {}

    def on(self, event: Event) -> None:
        """Remembers a `rot`."""
        folder, _, file = event.details[1].partition("/")
        base = int(file.removesuffix(".log"))
        self._from[folder] = min(base, self._from.get(folder, base))

    def has(self, partition: object, offset: int | None = None) -> bool:
        """Whether this log, or this offset of it, may be gone."""
        start = self._from.get(str(partition))
        return start is not None and (offset is None or offset >= start)


class BoundsHold(Invariant):
    """A log starts at or below its high watermark, which is at or below its end."""

    watches: ClassVar = frozenset({"log.found", "rot"})

    def __init__(self) -> None:
        self._rot = Rot()

    def on(self, event: Event) -> None:
        """And what is found lies in between, without a hole.

        But a batch's offset stands before what its checksum covers: where it has turned, records
        are elsewhere, and that cannot be seen.
        """
        if event.what == "rot":
            self._rot.on(event)
            return
        partition, start, high_watermark, end, found = event.details
        assert start <= high_watermark <= end, f"{partition}: {start}, {high_watermark}, {end}"
        if self._rot.has(partition):
            return
        offsets = {offset for offset, _ in found}
        holes = [offset for offset in range(start, end) if offset not in offsets]
        assert not holes, f"{partition} from {start} to {end} has no {holes[:3]}"
        assert len(found) == end - start, f"{partition} from {start} to {end}: {len(found)} records"


class AcknowledgedRecordsSurvive(Invariant):
    """A record is where it was acknowledged: durable ones for ever, others until a power cut.

    Where a bit has turned, a segment and what follows it may be gone, what is before it may not.
    """

    watches: ClassVar = frozenset(
        {"log.acked", "log.flushed", "log.trimmed", "log.found", "loses power", "rot"}
    )

    def __init__(self) -> None:
        self._rot = Rot()
        self._durable: dict[TopicPartition, dict[int, str]] = defaultdict(dict)
        self._written: dict[TopicPartition, dict[int, str]] = defaultdict(dict)

    def on(self, event: Event) -> None:
        """Remembers what was promised, and compares what is found with it."""
        if event.what == "loses power":
            self._written.clear()
            return
        if event.what == "rot":
            self._rot.on(event)
            return
        partition = event.details[0]
        durable, written = self._durable[partition], self._written[partition]
        if event.what == "log.acked":
            _, base, values, is_durable = event.details
            (durable if is_durable else written).update(enumerate(values, base))
        elif event.what == "log.flushed":
            upto = event.details[1]
            for offset in [offset for offset in written if offset < upto]:
                durable[offset] = written.pop(offset)
        elif event.what == "log.trimmed":
            for promised in (durable, written):
                for offset in [offset for offset in promised if offset < event.details[1]]:
                    del promised[offset]
        else:
            found = dict(event.details[4])
            for promised in (durable, written):
                for offset, value in promised.items():
                    there = found.get(offset, "nothing")
                    is_so = there == value or self._rot.has(partition, offset)
                    assert is_so, f"{partition} at {offset}: {there}, not {value}"


class NothingIsInvented(Invariant):
    """Every record that is found was written by somebody, to this log, and is there once."""

    watches: ClassVar = frozenset({"log.tried", "log.found"})

    def __init__(self) -> None:
        self._tried: dict[TopicPartition, set[str]] = defaultdict(set)

    def on(self, event: Event) -> None:
        """Compares what is found with what was tried."""
        if event.what == "log.tried":
            partition, values = event.details
            self._tried[partition].update(values)
            return
        partition, _, _, _, found = event.details
        values = [value for _, value in found]
        invented = [value for value in values if value not in self._tried[partition]]
        assert not invented, f"{partition}: no client wrote {invented[:3]}"
        twice = [value for value in values if values.count(value) > 1]
        assert not twice, f"{partition} has {twice[:3]} more than once"


class ProducersAreRemembered(Invariant):
    """Where everything acknowledged is durable, no producer is told of a gap."""

    watches: ClassVar = frozenset({"log.gap", "rot"})

    def __init__(self) -> None:
        self._rot = Rot()

    def on(self, event: Event) -> None:
        """A gap is a lost batch."""
        if event.what == "rot":
            self._rot.on(event)
            return
        partition = event.details[0]
        is_so = partition.topic != "orders" or self._rot.has(partition)
        assert is_so, f"{partition} has lost a batch"


class RotIsSeen(Invariant):
    """A reader finds what was written, or that it is corrupt, which only a turned bit makes it."""

    watches: ClassVar = frozenset({"log.corrupt", "rot"})

    def __init__(self) -> None:
        self._rot = Rot()

    def on(self, event: Event) -> None:
        """That nothing else is found than was written is said above."""
        if event.what == "rot":
            self._rot.on(event)
        else:
            partition, reason = event.details
            assert self._rot.has(partition), f"{partition}: {reason}, although no bit has turned"


class DisksFailAlone(Invariant):
    """A directory that fails takes its own logs along, and no other."""

    watches: ClassVar = frozenset({"log.offline", "log.acked", "starts", "log.found"})

    def __init__(self) -> None:
        self._offline: dict[str, str] = {}  # partition -> directory

    def on(self, event: Event) -> None:
        """Nothing of a failed directory is served until the next start; each fails once."""
        if event.what == "starts":
            self._offline.clear()
        elif event.what == "log.offline":
            name, _, *partitions = event.details
            assert name not in self._offline.values(), f"{name} failed twice"
            self._offline.update(dict.fromkeys(partitions, name))
        else:
            partition = str(event.details[0])
            assert partition not in self._offline, f"{partition} of {self._offline[partition]}"

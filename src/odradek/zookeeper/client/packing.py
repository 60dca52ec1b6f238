"""Many writes in few requests: multis that fit into a packet, each behind the same guard.

A multi saves the server a transaction, a sync and an answer for each of its operations but one: a
few hundred small writes to a multi are as fast as it gets. What is packed together is also done
together or not at all, so only writes that may fail together belong into one call.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from odradek.model.units import Bytes
from odradek.zookeeper.protocol.jute import PACKET_BYTES_MAX
from odradek.zookeeper.protocol.jute_requests import Check, Multi, WriteOp

OPERATIONS_MAX: Final = 200
BYTES_MAX: Final = Bytes(PACKET_BYTES_MAX)
HEADER_BYTES: Final = 9  # in front of each operation, and once at the end
REQUEST_HEADER_BYTES: Final = 8


def packed(
    operations: Iterable[WriteOp],
    *,
    guard: Sequence[Check] = (),
    bytes_more: Callable[[WriteOp], int] = lambda _: 0,
    operations_max: int = OPERATIONS_MAX,
    bytes_max: Bytes = BYTES_MAX,
) -> Iterator[Multi]:
    """Puts the operations, in order, into as few multis as the bounds allow.

    Each may grow by `bytes_more` on its way.

    The guard stands in front of each of them: results begin behind it. An operation that is too
    large by itself gets a multi of its own, which the session will refuse.
    """

    def size_of(operation: WriteOp) -> int:
        return HEADER_BYTES + len(operation.body()) + bytes_more(operation)

    empty = REQUEST_HEADER_BYTES + HEADER_BYTES + sum(map(size_of, guard))
    batch: list[WriteOp] = []
    size = empty
    for operation in operations:
        more = size_of(operation)
        if batch and (len(batch) == operations_max or size + more > bytes_max):
            yield Multi((*guard, *batch))
            batch, size = [], empty
        batch.append(operation)
        size += more
    if batch:
        yield Multi((*guard, *batch))

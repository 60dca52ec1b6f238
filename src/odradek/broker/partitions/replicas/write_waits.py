"""Waiting for what is noted or written in the logs of replicas."""

import asyncio
from collections.abc import Sequence

from odradek.broker.partitions.replicas.leading_replica import LeadingReplica
from odradek.broker.partitions.replicas.replica import Patience
from odradek.model.errors import BrokerError
from odradek.storage.errors import StorageError


class EpochsBegun:
    """Until the leader epochs of these replicas are in their logs, or cannot be written."""

    def __init__(self, replicas: Sequence[LeadingReplica]) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._left = len(replicas)
        self._is_done()
        for place, replica in enumerate(replicas):
            try:
                replica.begin_epoch(self, place)
            except StorageError as error:  # its dir has failed; `look_at_failures` sees to it
                self.on_written(place, error)

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """One more."""
        del place, error
        self._left -= 1
        self._is_done()

    def on_stuck(self, place: int, patience: Patience) -> None:
        """An epoch is noted in memory: it waits for no disk."""
        del place, patience

    def _is_done(self) -> None:
        if not self._left and not self.future.done():
            self.future.set_result(None)


class SegmentRolled:
    """Until there is one new segment."""

    def __init__(self) -> None:
        self.future: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def on_written(self, place: int, error: BrokerError | None) -> None:
        """It is there, or its dir has failed."""
        del place, error
        if not self.future.done():
            self.future.set_result(None)

    def on_stuck(self, place: int, patience: Patience) -> None:
        """It waits on: the round that wants a new segment does nothing else in this dir."""
        del place, patience

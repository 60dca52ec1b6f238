"""What a broker had before it was drained or demoted: the plan by which `undrain` puts it back.

It is kept on this machine, a file for each broker beside the former assignments of moves.
"""

from typing import NamedTuple, Self

from odradek.cli.replicas import former_assignment
from odradek.cli.replicas.former_assignment import Assignments
from odradek.client.cluster import Cluster


class SavedPlan(NamedTuple):
    """Of one broker of one cluster."""

    name: str

    @classmethod
    async def of(cls, cluster: Cluster, broker: int) -> Self:
        """Whether there is one or not."""
        answer = await cluster.refresh([])
        return cls(f"{answer.cluster_id}-broker-{broker}")

    def read(self) -> Assignments:
        """Nothing, where none was kept."""
        return former_assignment.former_of(self.name)

    def add(self, before: Assignments) -> None:
        """What an earlier call has kept stays: it is older, so it is what the broker had."""
        known = self.read()
        new = {it: replicas for it, replicas in before.items() if it not in known}
        former_assignment.keep(self.name, new, known)

    def drop(self) -> None:
        """All is back."""
        former_assignment.path_of(self.name).unlink(missing_ok=True)

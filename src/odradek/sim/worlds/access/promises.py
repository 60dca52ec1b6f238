"""What access rules promise, judged by the rules that there were."""

from typing import ClassVar

from odradek.model.access import Operation
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.worlds.access.truth import AccessTruth, Question


class _Judged(Invariant):
    verdict: ClassVar[bool]

    def __init__(self, truth: AccessTruth) -> None:
        self._truth = truth

    def on(self, event: Event) -> None:
        """The rules must have said so once, since the broker was bound to know them."""
        operation, topic, leader, since = event.details
        question = Question(event.who, Operation(operation), topic)
        verdicts = self._truth.verdicts(question, since)
        assert self.verdict in verdicts, (
            f"{question} by broker {leader}, which knew version {since} of "
            f"{len(self._truth.versions)}; since then never {self.verdict}"
        )


class NothingIsServedWithoutARight(_Judged):
    """Who is served has the right, by the rules that the broker has heard of or by later ones."""

    watches: ClassVar = frozenset({"access.served"})
    verdict: ClassVar = True


class NothingIsRefusedWithARight(_Judged):
    """Who is refused has not had the right all the time since the broker heard of it."""

    watches: ClassVar = frozenset({"access.refused"})
    verdict: ClassVar = False

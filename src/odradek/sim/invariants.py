"""Promises that are watched over a whole run, and what is said when one is broken.

An invariant is a class with a sentence. It is told every event that it asked for, just after it
happened, and looks at the world again when the run has ended. It asserts; the run ends with the
event at which the assertion failed, whatever code was running.
"""

from collections.abc import Callable
from typing import ClassVar

from odradek.sim.history import Event


class Violation(Exception):
    """A promise was broken: which, at which event, and how."""

    def __init__(self, invariant: str, promise: str, reason: str) -> None:
        super().__init__(invariant, promise, reason)
        self.invariant, self.promise, self.reason = invariant, promise, reason

    def __str__(self) -> str:
        return f"{self.invariant}: {self.promise}\n  {self.reason}"


class Invariant:
    """One promise. Its docstring's first line is what is printed when it is broken."""

    watches: ClassVar[frozenset[str]] = frozenset()  # kinds of events; none means all

    def on(self, event: Event) -> None:
        """Looks at one event; asserts."""

    def at_end(self) -> None:
        """Looks at what is left when everything has healed; asserts."""

    @classmethod
    def promise(cls) -> str:
        """The sentence."""
        return (cls.__doc__ or cls.__name__).strip().splitlines()[0]

    def violated(self, reason: object) -> Violation:
        """What an assertion of this invariant means."""
        return Violation(type(self).__name__, self.promise(), str(reason))

    def guarded(self, fail: Callable[[Violation], None]) -> Callable[[Event], None]:
        """`on` for each event; what it has against one ends the run, whatever code is running."""
        look = self.on

        def watch(event: Event) -> None:
            try:
                look(event)
            except AssertionError as error:
                fail(self.violated(f"{error}\n  at {str(event).strip()}"))

        return watch

    def guard_end(self) -> Violation | None:
        """What `at_end` has against the run."""
        try:
            self.at_end()
        except AssertionError as error:
            return self.violated(error)
        return None

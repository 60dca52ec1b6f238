"""Every choice instead of a random one: the Random door for tests that leave nothing to chance.

A piece of code that draws from the door is run again and again until each combination of draws
was had once. Meant for small spaces, such as what a crash leaves of three unsynced writes.
"""

from collections.abc import Iterator


class Choices:
    """Answers from a plan as far as it goes, then with zero; remembers what was asked."""

    def __init__(self, plan: tuple[int, ...] = ()) -> None:
        self._plan = plan
        self.drawn: list[tuple[int, int]] = []  # value, bound

    def below(self, bound: int) -> int:
        """The next choice of the plan; the bound must be the same at every run."""
        assert bound > 0, bound
        at = len(self.drawn)
        value = self._plan[at] if at < len(self._plan) else 0
        assert value < bound, "the code draws differently although its draws were the same"
        self.drawn.append((value, bound))
        return value

    def bytes(self, count: int) -> bytes:
        """Each byte is a choice; ask for few."""
        return bytes(self.below(256) for _ in range(count))

    def following(self) -> tuple[int, ...] | None:
        """The plan of the next run: the last draw that can grow grows; None after the last."""
        values = list(self.drawn)
        while values and values[-1][0] + 1 == values[-1][1]:
            values.pop()
        if not values:
            return None
        value, _ = values.pop()
        return (*(value for value, _ in values), value + 1)


def every_choice() -> Iterator[Choices]:
    """One `Choices` for each combination; use each one to its end before taking the next."""
    plan: tuple[int, ...] | None = ()
    while plan is not None:
        choices = Choices(plan)
        yield choices
        plan = choices.following()

"""How much per second, over sliding windows: as Kafka's `Rate` measures it."""

from odradek.model.units import SECOND, Millis


class Window:
    """What came within some time, one of a few."""

    __slots__ = ("amount", "began_at", "last_at")

    def __init__(self, now: Millis) -> None:
        self.began_at = self.last_at = now
        self.amount = 0.0


class Rate:
    """Over so many windows of such a length, the one that is filled among them."""

    __slots__ = ("_count", "_length", "_windows")

    def __init__(self, count: int, length: Millis) -> None:
        self._count = count
        self._length = length
        self._windows: list[Window] = []

    def record(self, amount: float, now: Millis) -> None:
        """So much more; a negative amount takes back what was recorded before."""
        window = self._windows[-1] if self._windows else self._begin(now)
        if now - window.began_at >= self._length:
            window = self._begin(now)
        window.amount += amount
        window.last_at = now

    def per_second(self, now: Millis) -> float:
        """What came, by the time in which it did."""
        span = self.span(now)
        return sum(window.amount for window in self._windows) * SECOND / span

    def span(self, now: Millis) -> Millis:
        """The time that is looked at: never less than all windows but the last.

        So a first request is not taken for a flood.
        """
        self._drop_old(now)
        elapsed = now - self._windows[0].began_at if self._windows else 0
        full = elapsed // self._length
        missing = max(self._count - 1 - full, 0) * self._length
        return Millis(max(elapsed + missing, 1))

    def is_idle(self, now: Millis) -> bool:
        """Whether nothing came for so long that nothing is remembered."""
        self._drop_old(now)
        return not self._windows

    def pause(self, limit: float, now: Millis) -> Millis:
        """How long nothing more may come, for the rate to fall to the limit; 0 below it."""
        rate = self.per_second(now)
        if rate <= limit:
            return Millis(0)
        return Millis(round((rate - limit) / limit * self.span(now)))

    def _begin(self, now: Millis) -> Window:
        self._windows = [*self._windows[-self._count :], Window(now)]
        return self._windows[-1]

    def _drop_old(self, now: Millis) -> None:
        """One that began before the time that is looked at counts while it reaches into it."""
        age = self._count * self._length
        if self._windows and now - self._windows[0].last_at >= age:
            self._windows = [it for it in self._windows if now - it.last_at < age]

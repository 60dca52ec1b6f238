"""Log lines that clients cause are few, however many clients there are."""

from structlog.testing import capture_logs

from odradek.broker.network.line_limit import BURST, LineLimit
from odradek.model.units import Micros
from tests.unit.broker.test_dispatch import StillClock


class MovingClock(StillClock):
    """The test moves it."""

    now = 0

    def micros(self) -> Micros:
        """As the test says."""
        return Micros(self.now)


def test_a_flood_of_refusals_writes_few_lines_and_counts_the_rest() -> None:
    """Who attacks does not choose how fast the disk under the log fills."""
    clock = MovingClock()
    lines = LineLimit(clock)
    with capture_logs() as written:
        for _ in range(10_000):
            lines.info("connection.refused", reason="nonsense")
        lines.info("connection.closed", reason="of another kind")
        clock.now = 1_000_000
        lines.info("connection.refused", reason="a second later")
    assert len(written) == BURST + 2
    assert written[-2]["event"] == "connection.closed"
    assert written[-1]["left_out"] == 10_000 - BURST

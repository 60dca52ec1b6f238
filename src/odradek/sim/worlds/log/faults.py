"""What happens to the machine of this world beside what happens to any."""

from odradek.sim.doors.chance import SeededRandom
from odradek.sim.faults import PowerCut

FIRST_LIFE_MICROS: int = 2_000_000


class PowerCutTwice(PowerCut):
    """A machine loses power, and loses it again soon after it has started.

    What the first start has repaired is not all durable yet.
    """

    name = "power-cut-twice"

    def strike(self, chance: SeededRandom) -> str | None:
        """One machine, which is off for a moment."""
        machine = self.running(chance)
        if machine is None:
            return None
        machine.cut_power()
        machine.start()
        wait = chance.below(FIRST_LIFE_MICROS >> chance.below(12)) + 1
        back = self.later(chance)

        def again() -> None:
            machine.cut_power()
            self.world.after(back, machine.start_if_down)

        self.world.after(wait, again)
        return f"{machine.name} {wait}us"

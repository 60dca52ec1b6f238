"""One kind of run: a world that is built, harmed, healed and judged.

    begin       machines and workload start, and are given time to get going
    faults      strike as the plan has it, while the workload goes on
    heal        everything works again, everybody is up; who was kept from work does it now
    recover     the workload must get somewhere: liveness
    judge       invariants look a last time; the work that was done is counted

A run that did not do enough work proves nothing, and fails as vacuous.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import ModuleType
from typing import ClassVar, Final, NamedTuple

from odradek.sim.doors.loop import SECOND, Deadlock, Livelock
from odradek.sim.faults import Fault
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant, Violation
from odradek.sim.plan import Plan, draw_plan
from odradek.sim.stage.world import World, uncollected

DRIFT_MAX: Final = 2_000  # microseconds in each second: what a bad quartz does tenfold
SKEW_MICROS_MAX: Final = 600 * SECOND
LATE_SECONDS_MAX: Final = 60
"""So much more time for a workload that the faults kept from nearly everything: first without new
faults, then in peace."""
WARM_SECONDS_MAX: Final = 30
TEN: Final = 10
PAIR_MICROS: Final = 10 * SECOND
"""Faults that strike no further apart meet each other."""


class Knob(NamedTuple):
    """A name in a module or class, where it is defined, and its value for one run."""

    module: ModuleType | type
    name: str
    value: object


class Simulation:
    """What the kinds have in common. A kind is made for one run."""

    name: ClassVar[str] = ""
    fault_seconds: ClassVar[int] = 40
    healing_seconds: ClassVar[int] = 20
    floors: ClassVar[Mapping[str, int]] = {}
    """How much work, by the kind of event, a run must have done."""
    floors_under_faults: ClassVar[Mapping[str, int]] = {}
    """How much of it before everything heals."""
    floors_of_many: ClassVar[Mapping[str, int]] = {}
    """How much of what few runs have, before everything heals, in ten runs together."""
    busy: ClassVar[Mapping[str, int]] = {}
    """How much of it, while new faults strike, where a run is not idle; how many are is printed.

    Where it is not done by half-time, what the plan has then is left out until it is."""
    controls: ClassVar[tuple[str, ...]] = ()
    """Known mistakes that can be switched on; each must be found."""

    def __init__(self, world: World, control: str = "") -> None:
        assert not control or control in self.controls, control
        self.world = world
        self.control = control

    def begin(self) -> None:
        """Starts the machines and their workload."""
        raise NotImplementedError

    def is_warm(self) -> bool:
        """Whether faults may begin: what they strike should be at work."""
        return True

    def faults(self) -> Sequence[Fault]:
        """What may go wrong."""
        raise NotImplementedError

    def invariants(self) -> Sequence[Invariant]:
        """What must never go wrong."""
        raise NotImplementedError

    def recover(self) -> str:
        """What does not work again, some time after the faults are gone; nothing if all does."""
        return ""

    def knobs(self) -> Sequence[Knob]:
        """Bounds of the product that a run this short would never reach, lowered for it."""
        return ()

    def state(self) -> str:
        """Where the world stands, in a few words: what a fault strikes in."""
        return ""

    def roles(self) -> Mapping[str, Collection[str]]:
        """What machines are at, by their names, and what the world is at, by none."""
        return {"": (self.state(),)}


@dataclass(slots=True)
class Outcome:
    """What came of one run."""

    kind: str
    seed: int
    plan: Plan
    control: str = ""
    digest: str = ""
    events: int = 0
    work: Counter[str] = field(default_factory=Counter)
    under_faults: Counter[str] = field(default_factory=Counter)  # of the work
    strikes: Counter[tuple[str, str]] = field(default_factory=Counter)  # fault, role
    pairs: Counter[tuple[str, str]] = field(
        default_factory=Counter
    )  # of faults, soon after another
    violation: Violation | None = None
    missing: dict[str, int] = field(default_factory=dict)  # work that was not done
    idle: bool = False  # less was done than a busy run does
    last: dict[str, list[str]] = field(default_factory=dict)  # of each machine
    timeline: list[Event] | None = None
    lines: dict[str, tuple[int, ...]] = field(default_factory=dict)  # that no run before has seen

    @property
    def passed(self) -> bool:
        """Whether it proved something, and that was good."""
        return self.violation is None and not self.missing


class Liveness(Invariant):
    """Once the faults are gone, everything works again."""


class NoSurprise(Invariant):
    """Nothing fails that was not expected to fail."""


def run(
    kind: type[Simulation],
    seed: int,
    *,
    plan: Plan | None = None,
    control: str = "",
    timeline: bool = False,
) -> Outcome:
    """One run; with a plan of one's own it is the same run with other faults."""
    with uncollected():
        outcome = Outcome(kind.name, seed, plan or (), control)
        outcome.timeline = [] if timeline else None
        _run(kind, outcome, is_drawn=plan is None)
        return outcome


def _run(kind: type[Simulation], outcome: Outcome, *, is_drawn: bool) -> None:
    """When it returns nothing holds on to the world any more."""
    world = World(outcome.seed)
    with world, ExitStack() as turned:
        simulation = kind(world, outcome.control)
        turned.enter_context(turning(simulation.knobs()))
        faults = {fault.name: fault for fault in simulation.faults()}
        if is_drawn:
            outcome.plan = draw_plan(world.chance.stream("plan"), list(faults), kind.fault_seconds)
        _set_clocks(world)
        world.history.timeline = outcome.timeline
        invariants = simulation.invariants()
        for invariant in invariants:
            world.history.watch(invariant.guarded(world.loop.fail), invariant.watches)
        try:
            _play(world, simulation, faults, outcome)
            ends = (invariant.guard_end() for invariant in invariants)
            outcome.violation = next(filter(None, ends), None)
        except Violation as violation:
            outcome.violation = violation
        except (Deadlock, Livelock) as error:
            outcome.violation = Liveness().violated(error)
        outcome.digest, outcome.work = world.history.digest(), world.history.counts
        outcome.events = world.loop.events
        outcome.last = {who: list(map(str, last)) for who, last in world.history.last.items()}
    outcome.missing = _below(kind.floors, outcome.work)
    if outcome.violation is None:
        late = _below(kind.floors_under_faults, outcome.under_faults)
        outcome.missing |= {f"{what} under faults": floor for what, floor in late.items()}


def _play(
    world: World, simulation: Simulation, faults: Mapping[str, Fault], outcome: Outcome
) -> None:
    try:
        simulation.begin()
        _run_until(world, simulation.is_warm, WARM_SECONDS_MAX)
        cold = Counter(world.history.counts)

        def under_faults() -> Counter[str]:
            return world.history.counts - cold

        def is_idle() -> bool:
            return bool(_below(simulation.busy, under_faults()))

        _schedule(world, simulation, faults, outcome, is_idle=is_idle)
        world.run(seconds=simulation.fault_seconds)
        outcome.idle = is_idle()
        floors = simulation.floors_under_faults
        _run_until(world, lambda: not _below(floors, under_faults()), LATE_SECONDS_MAX)
        outcome.under_faults = under_faults()
        world.history.note("world", "heals")
        for fault in faults.values():
            fault.heal()
        world.run(seconds=simulation.healing_seconds)
        floors = simulation.floors
        _run_until(world, lambda: not _below(floors, world.history.counts), LATE_SECONDS_MAX)
        complaint = simulation.recover()
    except (Violation, Deadlock, Livelock):
        raise
    except Exception as error:
        raise NoSurprise().violated(_described(error)) from error
    if complaint:
        raise Liveness().violated(complaint)


def too_little(outcomes: Sequence[Outcome], floors: Mapping[str, int]) -> Mapping[str, int]:
    """What many runs should have had while faults struck, and had not; some count only as ten."""
    tens = len(outcomes) // TEN
    work = sum((outcome.under_faults for outcome in outcomes), Counter[str]())
    return _below({what: floor * tens for what, floor in floors.items()}, work)


def _run_until(world: World, is_so: Callable[[], bool], seconds_max: int) -> None:
    """Looks once a second."""
    for _ in range(seconds_max):
        if is_so():
            break
        world.run(seconds=1)


def _below(floors: Mapping[str, int], work: Mapping[str, int]) -> dict[str, int]:
    """The floors that were not reached."""
    return {what: floor for what, floor in floors.items() if work.get(what, 0) < floor}


@contextmanager
def turning(knobs: Sequence[Knob]) -> Iterator[None]:
    """For as long as this lasts these names have other values.

    What stands there is put back as it stood: `getattr` would unwrap a static method.
    """
    before = [Knob(knob.module, knob.name, vars(knob.module)[knob.name]) for knob in knobs]
    try:
        for knob in knobs:
            setattr(*knob)
        yield
    finally:
        for knob in before:
            setattr(*knob)


def _set_clocks(world: World) -> None:
    """In every other world each machine has a clock that is too fast or too slow, and wrong."""
    chance = world.chance.stream("clocks")
    if chance.below(2):
        for machine in world.machines.values():
            machine.clock.drift = chance.between(-DRIFT_MAX, DRIFT_MAX)
            machine.clock.skew = chance.between(-SKEW_MICROS_MAX, SKEW_MICROS_MAX)


def _schedule(
    world: World,
    simulation: Simulation,
    faults: Mapping[str, Fault],
    outcome: Outcome,
    *,
    is_idle: Callable[[], bool],
) -> None:
    chance = world.chance.stream("strikes")
    struck: dict[str, int] = {}  # when each fault struck last
    half_time = world.loop.now + simulation.fault_seconds * SECOND // 2

    def strike(name: str, number: int) -> None:
        if world.loop.now >= half_time and is_idle():
            return
        roles = simulation.roles()
        harm = faults[name].strike(chance.stream(f"{name}/{number}"))
        if harm is None:
            return
        words = {word for whom, them in roles.items() if whom in harm for word in them}
        outcome.strikes.update((name, word) for word in words)
        now = world.loop.now
        for other, moment in struck.items():
            if other != name and now - moment <= PAIR_MICROS:
                outcome.pairs[min(name, other), max(name, other)] += 1
        struck[name] = now
        world.history.note("world", "strikes", name, harm)

    for moment, name, number in outcome.plan:
        world.after(moment, partial(strike, name, number))


def _described(error: BaseException) -> str:
    """The error, and the line of ours at which it was raised."""
    trace = error.__traceback__
    line = "?"
    while trace is not None:
        line = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    if isinstance(error, BaseExceptionGroup):
        return f"{type(error).__name__}: " + "; ".join(map(_described, error.exceptions))
    return f"{type(error).__name__}: {error} at {line}"

"""How a run is judged: broken promises, surprises, too little work, no recovery."""

import asyncio
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import ClassVar, cast

import pytest

from odradek.sim import __main__ as command
from odradek.sim import batch, many, report
from odradek.sim.batch import Run, run_all
from odradek.sim.conversations import conversations
from odradek.sim.doors.chance import SeededRandom
from odradek.sim.doors.loop import SECOND
from odradek.sim.faults import Fault, Pause, PowerCut
from odradek.sim.history import Event
from odradek.sim.invariants import Invariant
from odradek.sim.plan import Strike, draw_plan, smaller
from odradek.sim.simulation import Outcome, Simulation, run, too_little
from odradek.sim.stage.machine import Machine


class Ticks(Simulation):
    """A machine that ticks once a second, and forgets its count when it loses power."""

    name: ClassVar = "ticks"
    fault_seconds: ClassVar = 20
    healing_seconds: ClassVar = 5
    floors: ClassVar = {"tick": 5}
    controls: ClassVar = ("idle", "late", "forgets", "fails", "sleeps", "spins", "waits")

    def begin(self) -> None:
        """One machine."""
        self.world.machine("clock").start(self._tick)

    def faults(self) -> Sequence[Fault]:
        """Two."""
        return PowerCut(self.world, ["clock"]), Pause(self.world, ["clock"])

    def invariants(self) -> Sequence[Invariant]:
        """One."""
        return (NeverBack(),)

    def recover(self) -> str:
        """It ticks again."""
        before = self.world.history.counts["tick"]
        self.world.run(seconds=3)
        stands = self.world.history.counts["tick"] == before
        return "it stands" if stands and self.control != "idle" else ""

    def state(self) -> str:
        """Up or down."""
        return "up" if self.world.machine("clock").running else "down"

    async def _tick(self, machine: Machine) -> None:
        disk = machine.disk()
        file = disk.open("count", create=True)
        disk.sync_directory("")
        if self.control == "late":
            await asyncio.sleep(self.fault_seconds + self.healing_seconds + 10)
        while self.control != "idle":
            await asyncio.sleep(1)
            file.write([b"x"], file.size())
            if self.control != "forgets":
                file.sync()
            self.world.history.note("clock", "tick", file.size())
            if self.control == "fails" and file.size() == 7:
                raise KeyError("seven")
            while self.control == "spins":
                pass
            if self.control == "sleeps" and file.size() > 15:
                await asyncio.sleep(1_000)
        await asyncio.sleep(1_000)


class NeverBack(Invariant):
    """The count never goes back."""

    watches: ClassVar = frozenset({"tick"})

    def __init__(self) -> None:
        self._last = 0

    def on(self, event: Event) -> None:
        """Compares with the last."""
        assert event.details[0] > self._last, f"{event.details[0]} after {self._last}"
        self._last = event.details[0]


def test_a_good_run_passes_and_says_what_it_did() -> None:
    """Work and effective faults are counted; the digest is that of the seed."""
    outcomes = [run(Ticks, seed) for seed in range(30)]
    assert all(outcome.passed for outcome in outcomes)
    assert outcomes[8].digest == run(Ticks, 8).digest
    assert len({outcome.digest for outcome in outcomes if outcome.strikes}) > 10
    table = report.coverage(outcomes)
    assert "power-cut" in table
    assert "up" in table
    assert "tick" in table


def test_a_broken_promise_ends_the_run_at_its_event() -> None:
    """The invariant, its sentence, the event; and the same failure from the plan alone."""
    failed = next(o for o in (run(Ticks, s, control="forgets") for s in range(20)) if o.violation)
    assert failed.violation is not None
    assert failed.violation.invariant == "NeverBack"
    assert "The count never goes back." in str(failed.violation)
    assert "tick" in failed.last["clock"][-1]
    text = report.failure(failed)
    assert f"--seed {failed.seed} --control forgets" in text

    again = run(Ticks, failed.seed, plan=failed.plan, control="forgets")
    assert again.digest == failed.digest


def test_a_failing_run_is_made_smaller() -> None:
    """Few strikes of the many are enough to fail, and they do the same harm alone."""
    failed = next(o for o in (run(Ticks, s, control="forgets") for s in range(20)) if o.violation)
    plan = smaller(
        failed.plan,
        lambda plan: run(Ticks, failed.seed, plan=plan, control="forgets").violation is not None,
    )
    assert {strike.fault for strike in plan} == {"power-cut"}
    assert len(plan) <= 2 < len(failed.plan)


def test_a_run_that_did_nothing_is_vacuous() -> None:
    """No promise was broken, for nothing was done: that is no proof."""
    outcome = run(Ticks, 1, control="idle")
    assert outcome.violation is None
    assert outcome.missing == {"tick": 5}
    assert "vacuous" in report.failure(outcome)


def test_who_was_kept_from_work_has_time_for_it_in_peace() -> None:
    """Misfortune without end proves little; what is done behind it is judged like the rest."""
    outcome = run(Ticks, 1, control="late", plan=())
    assert outcome.passed
    assert outcome.work["tick"] >= Ticks.floors["tick"]


@pytest.mark.parametrize(("ticks", "spared"), [(1, 0), (13, 4), (100, 10)])
def test_an_idle_run_is_spared_from_half_time_on_until_it_is_busy(ticks: int, spared: int) -> None:
    """What strikes where nothing is done finds nothing; a run that gets on is not spared."""

    class Busy(Ticks):
        """Is idle below so many ticks, of which there is one a second; is struck likewise."""

        busy: ClassVar = {"tick": ticks}

        def faults(self) -> Sequence[Fault]:
            """One."""
            return (Touch(self.world, ["clock"]),)

    plan = tuple(Strike(at * SECOND, Touch.name, at) for at in range(Busy.fault_seconds))
    outcome = run(Busy, 1, plan=plan, timeline=True)
    struck = [event.moment // SECOND for event in outcome.timeline or () if event.what == "strikes"]
    first = Busy.fault_seconds // 2
    assert struck == [at for at in range(Busy.fault_seconds) if not first <= at < first + spared]
    assert outcome.idle == (ticks == 100)


class Touch(Fault):
    """Does no harm."""

    name = "touch"

    def strike(self, chance: SeededRandom) -> str | None:
        """It always strikes."""
        del chance
        return self.machines[0].name


def test_an_error_that_nobody_expected_is_a_finding() -> None:
    """With the line at which it was raised."""
    outcome = run(Ticks, 1, control="fails", plan=())
    assert outcome.violation is not None
    assert "seven" in outcome.violation.reason
    assert "test_simulation.py" in outcome.violation.reason


def test_a_world_that_does_not_recover_is_a_finding() -> None:
    """After the faults are gone something must happen."""
    outcome = run(Ticks, 1, control="sleeps", plan=())
    assert outcome.violation is not None
    assert outcome.violation.reason == "it stands"


def test_plans_differ_and_some_are_empty() -> None:
    """A swarm: some faults, at some intensity, sometimes none; always the same for a seed."""
    plans = [draw_plan(SeededRandom(seed, "plan"), ["a", "b", "c"], 60) for seed in range(100)]
    assert plans[7] == draw_plan(SeededRandom(7, "plan"), ["a", "b", "c"], 60)
    assert {frozenset(strike.fault for strike in plan) for plan in plans} == {
        frozenset(faults) for faults in ("", "a", "b", "c", "ab", "ac", "bc", "abc")
    }
    assert all(plan == tuple(sorted(plan)) for plan in plans)


def test_a_new_fault_leaves_the_others_as_they_were() -> None:
    """Each draws from a stream of its own, and numbers its own strikes."""
    for seed in range(20):
        fewer, more = (
            draw_plan(SeededRandom(seed, "plan"), faults, 60) for faults in ("ab", "abc")
        )
        assert [strike for strike in more if strike.fault != "c"] == list(fewer)


def test_smaller_finds_the_two_that_matter() -> None:
    """Whatever else is in the plan goes."""
    plan = tuple(Strike(moment, "fault", moment) for moment in range(40))
    needed = {plan[3], plan[31]}
    assert smaller(plan, lambda candidate: needed <= set(candidate)) == (plan[3], plan[31])
    assert smaller((), lambda _: True) == ()


def test_a_timeline_can_be_read_and_browsed(tmp_path: Path) -> None:
    """Every event is in both, escaped in the one for a browser."""
    outcome = run(Ticks, 1, timeline=True)
    text, page = report.write_timeline(outcome, tmp_path)
    assert text.read_text().count("\n") == len(outcome.timeline or ())
    assert page.read_text().count("<tr ") == len(outcome.timeline or ())


def test_a_run_without_end_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would hold up all others, and nobody would learn which it was."""
    monkeypatch.setattr(batch, "SECONDS_MAX", 0.2)
    (outcome,) = run_all([partial(run, Ticks, control="spins")], [1])
    assert outcome.violation is not None
    assert outcome.violation.invariant == "Liveness"
    assert "Ticks._tick" in outcome.violation.reason


def test_many_runs_on_every_core() -> None:
    """The outcomes of other processes are those of this one."""
    outcomes = run_all([partial(run, Ticks, control="forgets")], [3, 4])
    digests = {(seed, run(Ticks, seed, control="forgets").digest) for seed in (3, 4)}
    assert {(outcome.seed, outcome.digest) for outcome in outcomes} == digests


def test_as_many_runs_as_somebody_asks_for() -> None:
    """Seeds without an end are run a few ahead, and no more once nobody asks."""
    outcomes = run_all([partial(run, Ticks)], count(1))
    some = {outcome.seed for outcome in islice(outcomes, 7)}
    assert len(some) == 7
    assert max(some) < 100
    cast("Generator[Outcome]", outcomes).close()


def test_how_long_is_said_with_a_unit() -> None:
    """So many seconds, minutes or hours; without a unit it is refused."""
    assert [many.seconds_of(text) for text in ("90s", "10m", "2h")] == [90, 600, 7_200]
    for wrong in ("10", "m", "-1s", "1.5h", "10 m"):
        with pytest.raises(ValueError, match=wrong):
            many.seconds_of(wrong)


@pytest.fixture
def ticks_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command knows one kind of world."""
    monkeypatch.setattr(command, "NAMES", ("ticks",))
    monkeypatch.setattr(command, "ALL", ("ticks",))
    monkeypatch.setattr(command, "kind", lambda _: Ticks)


@pytest.mark.usefixtures("ticks_only")
def test_the_command_says_how_it_went(capsys: pytest.CaptureFixture[str]) -> None:
    """0 for good, 2 for a wrong command, 3 for vacuous, 101 for a broken promise."""
    assert command.main(["--seed", "1"]) == 0
    assert f"digest {run(Ticks, 1).digest}" in capsys.readouterr().out
    assert command.main(["--seed", "1", "--control", "idle"]) == 3
    assert command.main(["--seed", "1", "--control", "fails"]) == 101
    assert command.main(["--seed", "1", "--control", "nonsense"]) == 2
    assert "no such control" in capsys.readouterr().err
    assert command.main(["--seed", "1", "--scenario", "x"]) == 2
    assert "no such scenario" in capsys.readouterr().err
    for wrong in ([], ["--seed", "1", "--seeds", "2"], ["--seed", "x"]):
        with pytest.raises(SystemExit) as caught:
            command.main(wrong)
        assert caught.value.code == 2


@pytest.mark.usefixtures("ticks_only")
def test_the_command_says_which_seed_finds_each_mistake(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of so many; 3 if one is found by none."""
    monkeypatch.setattr(Ticks, "controls", ("fails", "idle"))
    assert command.main(["--mistakes", "--seeds", "3"]) == 3
    assert capsys.readouterr().out == '    "fails": 1,\nnot found: idle\n'
    assert command.main(["--mistakes", "fails", "--seeds", "3"]) == 0


@pytest.mark.usefixtures("ticks_only")
def test_the_command_shrinks_and_traces(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """What is left of the plan is printed; the timeline is that of the smaller run."""

    def fails(seed: int) -> bool:
        return run(Ticks, seed, control="forgets").violation is not None

    seed = next(filter(fails, range(20)))
    arguments = ["--seed", str(seed), "--control", "forgets", "--shrink", "--trace", str(tmp_path)]
    assert command.main(arguments) == 101
    printed = capsys.readouterr().out
    assert "strikes are now" in printed
    assert "power-cut" in (tmp_path / f"ticks-{seed}.txt").read_text()


@pytest.mark.usefixtures("ticks_only")
def test_the_command_runs_many(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a table of what was met, and a report for each that failed."""

    def here(runs: Iterable[Run], seeds: range, *, lines: bool) -> list[Outcome]:
        assert not lines
        return [each(seed) for each in runs for seed in seeds]

    monkeypatch.setattr(many, "run_all", here)
    assert command.main(["--seeds", "4", "--from", "10"]) == 0
    assert "4 runs from seed 10, 0 failed" in capsys.readouterr().out
    assert command.main(["--seeds", "20", "--control", "forgets"]) == 101
    assert "NeverBack" in capsys.readouterr().out


@pytest.mark.usefixtures("ticks_only")
def test_fresh_seeds_can_be_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where they begin is drawn, and said before the first of them runs."""
    began: list[int] = []

    def here(runs: Iterable[Run], seeds: range, *, lines: bool) -> list[Outcome]:
        assert f"--from {seeds[0]} repeats them" in capsys.readouterr().out
        assert not lines
        began.append(seeds[0])
        return [each(seed) for each in runs for seed in seeds]

    monkeypatch.setattr(many, "run_all", here)
    assert command.main(["--fresh"]) == 0
    assert f"{many.FRESH_SEEDS} runs from seed {began[0]}" in capsys.readouterr().out
    assert command.main(["--fresh", "--seeds", "2"]) == 0
    assert began[0] != began[1]


@pytest.mark.parametrize("how", [(), ("--fresh", "--seed", "7"), ("--fresh", "--from", "7")])
def test_a_command_that_names_no_seeds_is_refused(how: Sequence[str]) -> None:
    """Nothing is run by a guess."""
    with pytest.raises(SystemExit) as ended:
        command.main(how)
    assert ended.value.code == 2


@pytest.mark.usefixtures("ticks_only")
def test_the_command_runs_for_so_long_and_shrinks_each_failure_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Seeds have no end but the time; of those that broke one promise one is made smaller."""

    def here(runs: Iterable[Run], seeds: Iterable[int], *, lines: bool) -> list[Outcome]:
        assert not lines
        return [each(seed) for each in runs for seed in islice(seeds, 20)]

    monkeypatch.setattr(many, "run_all", here)
    assert command.main(["--for", "2h", "--control", "forgets", "--shrink"]) == 101
    printed = capsys.readouterr().out
    assert "20 runs from seed 1" in printed
    assert printed.count("failed at commit") > 1
    assert printed.count("strikes are now 1:") == 1
    assert "power-cut #" in printed


@pytest.mark.usefixtures("ticks_only")
def test_the_command_prints_what_was_met(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """How often each fault struck, which never met, and what never ran."""

    def here(runs: Iterable[Run], seeds: Iterable[int], *, lines: bool) -> list[Outcome]:
        assert lines
        return [each(seed) for each in runs for seed in seeds]

    monkeypatch.setattr(many, "run_all", here)
    assert command.main(["--seeds", "20", "--coverage"]) == 0
    printed = capsys.readouterr().out
    assert "* `ticks`: 20 runs, seeds 1 to 20, all good" in printed
    assert "| `ticks` | up |" in printed
    assert "Of 1 pairs of faults 1 struck" in printed
    assert "`replication/leader.py`: " in printed


@pytest.mark.usefixtures("ticks_only")
def test_a_command_that_is_interrupted_says_what_it_has(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What failed was said at once; the table is of those runs that there were."""

    def here(runs: Iterable[Run], seeds: range, *, lines: bool) -> Iterator[Outcome]:
        assert not lines
        for seed in seeds:
            if seed == 9:
                assert "NeverBack" in capsys.readouterr().out
                raise KeyboardInterrupt
            yield from (each(seed) for each in runs)

    monkeypatch.setattr(many, "run_all", here)
    assert command.main(["--seeds", "20", "--control", "forgets"]) == 101
    assert "8 runs from seed 1, " in capsys.readouterr().out


def test_the_command_tells_a_story_by_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its digest if it went well; else the lesson, and the line at which it went otherwise."""
    story = tmp_path / "tests" / "scenarios" / "test_stories.py"
    story.parent.mkdir(parents=True)
    story.write_text(
        "def test_a_good_end(t):\n    t.run(seconds=1)\n"
        "def test_a_bad_end(t):\n    'It ends well.'\n    assert t is None\n"
    )
    monkeypatch.chdir(tmp_path)
    conversations.cache_clear()
    assert command.main(["--seed", "1", "--scenario", "a-good-end"]) == 0
    assert capsys.readouterr().out.startswith("digest ")
    assert command.main(["--seed", "1", "--scenario", "a-bad-end"]) == 101
    printed = capsys.readouterr().out
    assert "It ends well." in printed
    assert "test_stories.py:5: assert t is None" in printed
    with_control = ["--seed", "1", "--scenario", "a-good-end", "--control"]
    assert command.main([*with_control, "truncate-to-high-watermark"]) == 0
    assert command.main([*with_control, "nothing-that-is-known"]) == 2
    assert "truncate-to-high-watermark" in capsys.readouterr().err
    conversations.cache_clear()


def test_many_runs_must_have_had_what_single_runs_need_not() -> None:
    """Each ten of them so much, while faults struck; fewer than ten owe nothing."""
    once = Counter({"tick": 3})
    runs = [Outcome("ticks", seed, (), under_faults=once) for seed in range(20)]
    assert too_little(runs, {"tick": 30, "tock": 1}) == {"tock": 2}
    assert too_little(runs, {"tick": 31}) == {"tick": 62}
    assert too_little(runs[:9], {"tock": 1}) == {}

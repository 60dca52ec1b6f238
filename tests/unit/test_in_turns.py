"""Two sides measured in turns, and a machine that is another one in between."""

from collections.abc import Callable, Iterator

from benchmarks.in_turns import Machine, Pair, in_turns, ratios, spoiled, told

QUIET = Machine(100, 300, 20)


def always(machine: Machine) -> Callable[[], Machine]:
    """It is as it was."""
    return lambda: machine


def test_sides_take_turns_and_who_begins_changes() -> None:
    """Neither side always comes behind the other, when memory is already dear."""
    order: list[tuple[str, int]] = []

    def side(name: str) -> Callable[[int], dict[str, float]]:
        def turn(number: int) -> dict[str, float]:
            order.append((name, number))
            return {"messages/s": 1.0}

        return turn

    in_turns(side("ours"), side("theirs"), 2, always(QUIET))
    assert order == [
        *(("theirs", 0), ("ours", 0)),
        *(("ours", 1), ("theirs", 1)),
        *(("theirs", 2), ("ours", 2)),
    ]


def test_a_ratio_is_taken_within_a_pair() -> None:
    """A machine that becomes half as fast for both changes no ratio."""
    speeds = iter((100.0, 50.0, 25.0))
    now = 0.0

    def look() -> Machine:
        nonlocal now
        now = next(speeds)
        return QUIET

    pairs = in_turns(lambda _: {"m/s": 2 * now}, lambda _: {"m/s": now}, 2, look)
    assert ratios(pairs, "m/s") == [2.0, 2.0, 2.0]


def test_the_pair_that_warms_is_told_apart() -> None:
    """The median and the range are of the others."""
    figures: Iterator[float] = iter((9.0, 2.0, 4.0))
    pairs = in_turns(lambda _: {"s": next(figures)}, lambda _: {"s": 1.0}, 2, always(QUIET))
    assert "ratio 2 / 3 / 4" in told("case", pairs)
    assert "first 9" in told("case", pairs)


def test_a_machine_that_changes_spoils_a_run() -> None:
    """It is said which part of it did, and how much."""
    quiet = Pair({"s": 1.0}, {"s": 1.0}, QUIET)
    slow = quiet._replace(machine=QUIET._replace(memory=3_000))
    assert not spoiled([quiet, quiet])
    assert spoiled([quiet, slow]) == ["memory took 300 to 3,000 ms"]
    assert "SPOILED" in told("case", [quiet, slow])
    assert "SPOILED" not in told("case", [quiet, quiet])


def test_one_side_may_be_measured_alone() -> None:
    """Then there are figures, and no ratios."""
    said = told("case", in_turns(lambda _: {"s": 1.0}, None, 1, always(QUIET)))
    assert "ratio " not in said
    assert "machine's memory" in said

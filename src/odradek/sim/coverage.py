"""What many runs have met: printed for a reader, compared with nothing, kept nowhere.

For each kind of world how often each fault struck, and what stood at that moment what it struck;
which faults never struck soon after each other; which lines and functions of the pure packages
never ran, whatever was simulated.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from odradek.sim.lines import PURE, lines_of, names_of, never_ran
from odradek.sim.report import commit
from odradek.sim.simulation import Outcome

PACKAGES: Final = ("replication", "controller", "metadata", "storage")
"""Of these each function is named that never ran."""
RAREST: Final = 5


def written(outcomes: Sequence[Outcome]) -> str:
    """In Markdown."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in sorted(outcomes, key=lambda it: (it.kind, it.seed)):
        kinds.setdefault(outcome.kind, []).append(outcome)
    parts = [f"At commit {commit()}:", *map(_summary, kinds.values())]
    parts += [_table(kind, found) for kind, found in kinds.items()]
    parts.append(_lines(outcomes))
    return "".join(f"{part}\n" for part in ("", *parts, ""))


def _summary(outcomes: Sequence[Outcome]) -> str:
    kind, seeds = outcomes[0].kind, [outcome.seed for outcome in outcomes]
    failed = [str(outcome.seed) for outcome in outcomes if not outcome.passed]
    said = f"failed: {', '.join(failed)}" if failed else "all good"
    return f"* `{kind}`: {len(seeds):,} runs, seeds {min(seeds)} to {max(seeds)}, {said}"


def _table(kind: str, outcomes: Sequence[Outcome]) -> str:
    """How often each fault struck, by what stood then."""
    strikes: Counter[tuple[str, str]] = Counter()
    pairs: Counter[tuple[str, str]] = Counter()
    for outcome in outcomes:
        strikes.update(outcome.strikes)
        pairs.update(outcome.pairs)
    faults, roles = sorted({it for it, _ in strikes}), sorted({it for _, it in strikes})
    rows = [f"| `{kind}` | {' | '.join(roles)} |", "|---" * (1 + len(roles)) + "|"]
    rows += [
        f"| {fault} | {' | '.join(f'{strikes[fault, role]:,}' for role in roles)} |"
        for fault in faults
    ]
    return "\n".join(("", *rows, "", _pairs(faults, pairs)))


def _pairs(faults: Collection[str], pairs: Mapping[tuple[str, str], int]) -> str:
    """Those that never met, and those that seldom did."""
    possible = list(combinations(sorted(faults), 2))
    never = [" and ".join(pair) for pair in possible if not pairs.get(pair)]
    seldom = sorted((pairs[pair], pair) for pair in possible if pairs.get(pair))[:RAREST]
    rare = ", ".join(f"{' and '.join(pair)} ({count:,})" for count, pair in seldom)
    return (
        f"Of {len(possible)} pairs of faults {len(possible) - len(never)} struck within ten seconds"
        f" of each other; most seldom {rare or 'none'}; never {', '.join(never) or 'none'}."
    )


def _lines(outcomes: Iterable[Outcome]) -> str:
    seen: dict[str, set[int]] = {}
    for outcome in outcomes:
        for file, lines in outcome.lines.items():
            seen.setdefault(file, set()).update(lines)
    missing = never_ran(seen)
    shares = ", ".join(f"{name} {share:.0%}" for name, share in _shares(missing))
    rows = [
        "",
        f"Lines of functions of the pure packages that ran: {shares}.",
        "",
        "Functions of which no line ran:",
        "",
    ]
    for package in PACKAGES:
        for file in (it for it in missing if it.startswith(f"{package}/")):
            never = sorted(_never_entered(file, set(missing[file])))
            if never:
                rows.append(f"* `{file}`: {', '.join(never)}")
    return "\n".join(rows)


def _shares(missing: Mapping[str, Collection[int]]) -> Iterator[tuple[str, float]]:
    """Of each package, what part of it ran."""
    for package in PURE:
        files = [file for file in missing if file.startswith(f"{package}/")]
        total = sum(len(lines_of(file)) for file in files)
        if total:
            yield package, 1 - sum(len(missing[file]) for file in files) / total


def _never_entered(file: str, missing: Collection[int]) -> Iterator[str]:
    """Functions all lines of which are among those that never ran."""
    for name, lines in names_of(file).items():
        if lines and lines.issubset(missing):
            yield name

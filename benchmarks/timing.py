"""Ratios that hold on a noisy machine: contestants take turns, and each round is judged alone.

A round lets every contestant run for a few milliseconds, starting with another one each time.
Whatever disturbs the machine for longer disturbs them alike, so what counts is the median over
rounds of the ratio within a round; the quartiles say how far to trust it.

Time is the processor time of this process, which other processes do not add to. All work is done
in one thread (`__init__.py` sees to that), so on an idle machine it is the time by the clock.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

Run = Callable[[], object]


@dataclass(frozen=True)
class Effort:
    """How much time to spend: on the full run, or to see that everything works."""

    rounds: int
    seconds_per_turn: float
    quick: bool


FULL = Effort(rounds=61, seconds_per_turn=0.004, quick=False)
QUICK = Effort(rounds=3, seconds_per_turn=0.0005, quick=True)


@dataclass(frozen=True)
class Ratio:
    """The median of the per-round ratios, and the quartiles around it."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Claim:
    """What ought to hold: a contestant takes at most so many times as long as another."""

    contestant: str
    against: str
    at_most: float


@dataclass(frozen=True)
class Race:
    """Seconds a call, by contestant and round. All are compared with the `reference`."""

    name: str
    reference: str
    seconds: Mapping[str, list[float]]
    claims: tuple[Claim, ...] = ()
    # What to print instead of the time of a call, if a call does so many units of work.
    unit: str = "call"
    units: int = 1

    def typical(self, contestant: str) -> float:
        """The median time of one unit of work, in seconds."""
        return statistics.median(self.seconds[contestant]) / self.units

    def ratio(self, contestant: str, against: str) -> Ratio:
        pairs = zip(self.seconds[contestant], self.seconds[against], strict=True)
        ratios = [one / other for one, other in pairs]
        low, median, high = statistics.quantiles(ratios, n=4, method="inclusive")
        return Ratio(median, low, high)

    def holds(self, claim: Claim) -> bool:
        return self.ratio(claim.contestant, claim.against).median <= claim.at_most


@dataclass(frozen=True)
class Fact:
    """What is either so or not, whatever the time."""

    name: str
    holds: bool
    detail: str = ""


Outcome = Race | Fact


@dataclass
class _Lane:
    """One contestant, and how many calls make a turn long enough to measure."""

    run: Run
    calls: int
    seconds: list[float] = field(default_factory=list)

    def turn(self) -> None:
        start = time.process_time()
        for _ in range(self.calls):
            self.run()
        self.seconds.append((time.process_time() - start) / self.calls)


def race(
    name: str,
    contestants: Mapping[str, Run],
    effort: Effort,
    *,
    claims: tuple[Claim, ...] = (),
    rounds: int | None = None,
    unit: str = "call",
    units: int = 1,
) -> Race:
    """Let contestants take turns. The first one is the reference."""
    lanes = {key: _Lane(run, _calls_for(run, effort)) for key, run in contestants.items()}
    order = list(lanes.values())
    rounds = effort.rounds if rounds is None or effort.quick else rounds
    for number in range(rounds):
        # What one contestant leaves behind must not be collected at another's expense.
        gc.collect()
        gc.disable()
        try:
            shift = number % len(order)
            for lane in order[shift:] + order[:shift]:
                lane.turn()
        finally:
            gc.enable()
    seconds = {key: lane.seconds for key, lane in lanes.items()}
    return Race(name, next(iter(contestants)), seconds, claims, unit, units)


def _calls_for(run: Run, effort: Effort) -> int:
    """Calls that fill a turn, judged by the fastest of a few after a first one that compiles."""
    run()
    fastest = float("inf")
    for _ in range(2 if effort.quick else 5):
        start = time.process_time()
        run()
        fastest = min(fastest, time.process_time() - start)
    return max(1, min(10_000, round(effort.seconds_per_turn / max(fastest, 1e-7))))

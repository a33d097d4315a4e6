"""Derivatives written by hand, held against those of functions that work element by element.

Such a function is computed for numbers from the graph of its values, and so is its rule; the slope
is a difference quotient. What is not known to work element by element is left open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....finding import Place
from ....slopes import Sample, judge
from ...classes import innermost_function
from ...events import Fact
from ...graph import Node
from ...library.custom_rules import argument_names, nondifferentiable
from ...values import Constant, Data, Transformed, Value
from ...values import Sequence as Several
from .computed import POINTS, Computation, Drawn, Numbers
from .custom_derivatives import misfitting, return_place
from .elementwise import summed

if TYPE_CHECKING:
    from ...facts import SourceFacts

_TRIALS = 2
_STEP = 1e-5
_TOLERANCE = 0.02


@dataclass(frozen=True)
class Slope:
    """How the derivative by a rule compares to that of its function, for one argument.

    `verdict` is "agrees", "wrong", "unknown", or the constant ratio of rule and truth.
    """

    argument: str
    verdict: str | float
    place: Place | None


@dataclass(frozen=True)
class Ruled:
    """A function with a rule of its own, and the slopes for its arguments."""

    name: str
    place: Place
    slopes: list[Slope]


def ruled_functions(facts: SourceFacts) -> Iterator[Ruled]:
    """Every function with a rule of which a slope can be computed, once."""
    seen: set[int] = set()
    for fact in facts.events(Fact):
        if fact.kind != "derivative run":
            continue
        transformed: Transformed = fact.data["transformed"]
        function = innermost_function(transformed.function)
        if function is None or id(transformed) in seen or function.name in misfitting(facts):
            continue
        found = list(_slopes(facts, fact, transformed))
        if any(it.verdict != "unknown" for it in found):
            seen.add(id(transformed))
            yield Ruled(function.name, function.frame.place(function.syntax), found)


def _slopes(facts: SourceFacts, fact: Fact, transformed: Transformed) -> Iterator[Slope]:
    result: Value = fact.data["result"]
    given: list[Value] = fact.data["arguments"]
    arguments = [it.node for it in given if isinstance(it, Data)]
    # One value for two arguments has the slopes of both; a number that is written down has none.
    is_plain = all(isinstance(it, (Data, Constant)) for it in (result, *given))
    if not is_plain or len(set(arguments)) < len(arguments):
        return
    names = argument_names(transformed)
    static = nondifferentiable(transformed, names) or ()
    moving = [it for number, it in enumerate(names) if number not in static]
    for number, (name, argument) in enumerate(zip(moving, given, strict=False)):
        if not isinstance(argument, Data):
            continue
        for by_rule, derivatives, rule in _by_rule(fact, transformed, number):
            trials = [_Trial(arguments, seed) for seed in range(_TRIALS)]
            samples = [it.sample(result, argument.node, by_rule, derivatives) for it in trials]
            known = [it for it in samples if it is not None]
            verdict = judge(known, _TOLERANCE) if len(known) == _TRIALS else "unknown"
            yield Slope(name, verdict, return_place(facts, rule, by_rule))


def _by_rule(
    fact: Fact, transformed: Transformed, number: int
) -> Iterator[tuple[Value, dict[Node, float], Value]]:
    """What a rule makes of one argument's slope, by which tangents or cotangents, and the rule."""
    backward, pair = fact.data.get("backward"), fact.data.get("tangent")
    count = len(fact.data["arguments"])
    if isinstance(backward, Several) and len(backward.items or ()) == count:
        cotangents = {it.node: 1.0 for it in fact.data["cotangents"] if isinstance(it, Data)}
        yield (backward.items or [])[number], cotangents, transformed.rules["bwd"]
    if isinstance(pair, Several) and len(pair.items or ()) == 2:
        tangents = {
            it.node: float(at == number)
            for at, it in enumerate(fact.data["tangents"])
            if isinstance(it, Data)
        }
        yield (pair.items or [])[1], tangents, transformed.rules["jvp"]


class _Trial:
    """A function and its rule at some points."""

    def __init__(self, arguments: list[Node], seed: int):
        self._drawn = Drawn(seed)
        self._points = {node: self._drawn.numbers(node) for node in arguments}

    def sample(
        self, result: Value, argument: Node, by_rule: Value, given: dict[Node, float]
    ) -> Sample | None:
        """The slope for one argument: true, by the rule, and by the rule for twice as much."""
        steps = [{argument: self._points[argument] + step} for step in (0.0, _STEP, -_STEP)]
        scaled = [{node: np.full(POINTS, n * it) for node, it in given.items()} for n in (1, -2)]
        with np.errstate(all="ignore"):
            values = [self._computed(summed(result), it) for it in steps]
            ruled = [self._computed(by_rule, it) for it in scaled]
        known = [it for it in (*values, *ruled) if it is not None]
        if len(known) < len(values) + len(ruled):
            return None
        here, ahead, behind, once, twice = known
        is_same = any(np.array_equal(here, it) for it in self._points.values())
        slope = np.where(np.isfinite(here), (ahead - behind) / (2 * _STEP), np.nan)
        return Sample(slope, once, twice, is_same)

    def _computed(self, value: Value, given: Mapping[Node, Numbers]) -> Numbers | None:
        return Computation({**self._points, **given}, self._drawn).of(value)

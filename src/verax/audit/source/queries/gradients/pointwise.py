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
from .custom_derivatives import misfitting, return_place
from .elementwise import ELEMENTWISE, summed

if TYPE_CHECKING:
    from ...facts import SourceFacts

Numbers = np.ndarray
_TRIALS, _POINTS = 2, 12
_STEP = 1e-5
_TOLERANCE = 0.02
_DEEPEST = 200


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
        self._drawn = _Drawn(seed)
        self._points = {node: self._drawn.numbers(node) for node in arguments}

    def sample(
        self, result: Value, argument: Node, by_rule: Value, given: dict[Node, float]
    ) -> Sample | None:
        """The slope for one argument: true, by the rule, and by the rule for twice as much."""
        steps = [{argument: self._points[argument] + step} for step in (0.0, _STEP, -_STEP)]
        scaled = [{node: np.full(_POINTS, n * it) for node, it in given.items()} for n in (1, -2)]
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
        return _Computation({**self._points, **given}, self._drawn).of(value)


class _Drawn:
    """Numbers for what a function is given, the same whenever they are asked for."""

    def __init__(self, seed: int):
        self._rng, self._seed = np.random.default_rng(seed), seed
        self._known: dict[Node, Numbers] = {}

    def numbers(self, node: Node) -> Numbers:
        if node not in self._known:
            # Every second time inside of the domain of logarithms and roots.
            rng = self._rng
            drawn = rng.uniform(0.2, 1.8, _POINTS) if self._seed % 2 else rng.normal(size=_POINTS)
            self._known[node] = drawn
        return self._known[node]


class _Computation:
    """Numbers for values, each computed once; `None` for what cannot be computed."""

    def __init__(self, points: Mapping[Node, Numbers], drawn: _Drawn):
        self._known: dict[Node, Numbers | None] = dict(points)
        self._drawn, self._depth = drawn, 0

    def of(self, value: Value) -> Numbers | None:
        if isinstance(value, Data):
            return self._of_node(value.node)
        number = value.value if isinstance(value, Constant) else None
        return np.full(_POINTS, float(number)) if isinstance(number, (int, float)) else None

    def _of_node(self, node: Node) -> Numbers | None:
        if node not in self._known:
            self._known[node] = None  # until it is known: a loop comes back to itself
            self._depth += 1
            self._known[node] = self._made(node) if self._depth < _DEEPEST else None
            self._depth -= 1
        return self._known[node]

    def _made(self, node: Node) -> Numbers | None:
        if node.operation == "parameter":
            return self._drawn.numbers(node)
        recipe = ELEMENTWISE.get(node.operation)
        operands = [self.of(it) for it in node.operands]
        known = [it for it in operands if it is not None]
        if recipe is None or not operands or len(known) < len(operands):
            return None
        try:
            made = getattr(np, recipe)(*known) if isinstance(recipe, str) else recipe(np, *known)
            return np.asarray(made, dtype=float)
        except (TypeError, ValueError):  # It was given something else than its operands.
            return None

"""Derivatives that are infinite or nan although what they are derivatives of is fine."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from .facts import Facts
from .liveness import sources
from .program import Body, Step, Value
from .ranges.interval import Number, Point, kind_of
from .ranges.predicates import Fact, chosen, conditions, implied


@dataclass(frozen=True)
class Slope:
    """An operation whose derivative is infinite or undefined for some numbers.

    Zero times such a derivative is nan, so that it does not help if nothing depends on it.
    """

    name: str
    operand: int
    is_bad: Callable[[Number], bool]
    worst: tuple[float, ...]


_SLOPES: dict[str, Slope] = {
    "log": Slope("log", 0, lambda x: x == 0, (0.0,)),
    "log2": Slope("log2", 0, lambda x: x == 0, (0.0,)),
    "log1p": Slope("log1p", 0, lambda x: x == -1, (-1.0,)),
    "sqrt": Slope("sqrt", 0, lambda x: x <= 0, (0.0,)),
    "rsqrt": Slope("rsqrt", 0, lambda x: x <= 0, (0.0,)),
    "cbrt": Slope("cbrt", 0, lambda x: x == 0, (0.0,)),
    "div": Slope("division", 1, lambda x: x == 0, (0.0,)),
    "acos": Slope("arccos", 0, lambda x: abs(x) >= 1, (1.0, -1.0)),
    "asin": Slope("arcsin", 0, lambda x: abs(x) >= 1, (1.0, -1.0)),
    "atanh": Slope("arctanh", 0, lambda x: abs(x) == 1, (1.0, -1.0)),
}
# How far from a number a comparison may lie that is there because of it.
_NEAR = 0.1

_POWER = Slope("a power", 0, lambda x: x <= 0, (0.0,))


def slope_of(facts: Facts, step: Step) -> Slope | None:
    """Where a step's derivative is not finite, if there is such a number."""
    if step.primitive == "integer_pow":
        return _POWER if step.params["y"] < 0 else None
    if step.primitive == "pow":
        exponent = facts.ranges[step.inputs[1]]
        is_broken = exponent.is_single and exponent.low < 1 and exponent.low != 0
        return _POWER if is_broken else None
    return _SLOPES.get(step.primitive)


@dataclass(frozen=True, eq=False)
class Broken:
    """A step in a differentiated function whose derivative is not finite for a reached number.

    `choice` is the `where` that leaves the number out too late, if there is one.
    """

    step: Step
    operand: Value
    slope: Slope
    point: Point | None
    choice: Step | None
    derivation: Step


def infinite_slopes(facts: Facts) -> Iterator[Broken]:
    """Steps that are differentiated at numbers where their derivative is infinite."""
    for derivation, steps in _differentiated(facts):
        for step in steps:
            slope = slope_of(facts, step)
            if slope is None or step.inputs[slope.operand].is_constant:
                continue
            operand = step.inputs[slope.operand]
            point = facts.ranges[operand].reached(slope.is_bad)
            if point is not None:
                yield Broken(step, operand, slope, point, None, derivation)


def late_choices(facts: Facts) -> Iterator[Broken]:
    """`where`s around a step that is not defined for the numbers which they leave out."""
    for derivation, steps in _differentiated(facts):
        inside = set(steps)
        for choice in steps:
            if choice.primitive != "select_n" or len(choice.inputs) != 3:
                continue
            predicate, *cases = choice.inputs
            for truth, value in enumerate(cases):
                for step in _elementwise_before(value, inside):
                    slope = slope_of(facts, step)
                    if slope is None:
                        continue
                    operand = step.inputs[slope.operand]
                    if _left_out(facts, step, operand, slope, predicate, bool(truth)):
                        yield Broken(step, operand, slope, None, choice, derivation)


def _left_out(
    facts: Facts, step: Step, operand: Value, slope: Slope, predicate: Value, truth: bool
) -> bool:
    """Whether the numbers that a predicate leaves out are those where the derivative breaks."""
    ranges = facts.ranges
    everywhere = ranges[operand]
    if not any(everywhere.contains(worst) for worst in slope.worst):
        return False
    point = everywhere.reached(slope.is_bad)
    for fact in implied(ranges, predicate, truth):
        is_about = ranges.identities.equal(fact[0], operand) or (
            # A root is zero where its operand is.
            step.primitive in ("sqrt", "cbrt") and ranges.identities.equal(fact[0], step.outputs[0])
        )
        if is_about and any(_guards(fact, worst, point is not None) for worst in slope.worst):
            return True
    # A number that a mask brought about, and the same mask leaves out.
    deciding = {base for base, _ in conditions(predicate, truth)}
    return (
        point is not None
        and any(base in deciding for base, _ in point.when)
        and chosen(ranges, operand, predicate, truth).reached(slope.is_bad) is None
    )


def _guards(fact: Fact, worst: float, is_reached: bool) -> bool:
    """Whether a comparison is there to leave a number out.

    One that lies far from it may be there for something else, unless the number is reached.
    """
    _, comparison, other, _ = fact
    if comparison == "ne":
        return other.is_single and other.low == worst
    if comparison in ("gt", "ge"):
        edge = other.low
        excluded = worst < edge or (comparison == "gt" and worst == edge)
    elif comparison in ("lt", "le"):
        edge = other.high
        excluded = worst > edge or (comparison == "lt" and worst == edge)
    else:
        return False
    return excluded and (is_reached or abs(edge - worst) <= _NEAR)


# A derivative goes through these element by element.
_ELEMENTWISE = frozenset(
    """add sub mul div neg exp log log1p sqrt rsqrt tanh logistic pow integer_pow square abs max min
    convert_element_type broadcast_in_dim reshape squeeze select_n sin cos acos asin clamp
    """.split()
)


def _elementwise_before(value: Value, inside: set[Step]) -> Iterator[Step]:
    """The steps that made a value element by element, the last one first."""
    seen: set[Step] = set()
    pending = [value]
    while pending and len(seen) < 24:
        step = pending.pop().producer
        if step is None or step in seen or step not in inside or step.kind != "operation":
            continue
        if step.primitive not in _ELEMENTWISE:
            continue
        seen.add(step)
        yield step
        if step.primitive != "select_n":
            pending.extend(step.inputs)


def _differentiated(facts: Facts) -> Iterator[tuple[Step, list[Step]]]:
    """For each differentiated function, the steps that a derivative passes through."""
    for derivation in facts.steps:
        if derivation.kind != "derive" or not derivation.detail.applied:
            continue
        seeds = [
            inner
            for _, inner in derivation.detail.differentiated
            if kind_of(inner.dtype).is_float or math.prod(inner.shape) == 0
        ]
        results = derivation.bodies[0].outputs[: derivation.detail.results]
        needed = _needed(results)
        reached = _reached(facts, seeds)
        steps = [
            step
            for step in _without_own_derivative(derivation.bodies[0])
            if facts.is_in_users_function(step) or step.primitive == "select_n"
            if any(value in needed and value in reached for value in step.outputs)
            and any(value in reached for value in step.inputs)
        ]
        yield derivation, steps


def _needed(results: list[Value]) -> set[Value]:
    """All that results depend on by a path along which a derivative is passed."""
    needed: set[Value] = set()
    pending = list(results)
    while pending:
        value = pending.pop()
        if value in needed:
            continue
        needed.add(value)
        step = value.producer
        if step is not None and step.primitive != "stop_gradient":
            pending.extend(sources(step, value))
    return needed


def _without_own_derivative(body: Body) -> Iterator[Step]:
    """All steps of a body, but for those of functions that bring their own derivative."""
    for step in body.steps:
        yield step
        if not step.primitive.startswith("custom_"):
            for inner in step.bodies:
                yield from _without_own_derivative(inner)


def _reached(facts: Facts, seeds: list[Value]) -> set[Value]:
    """All that depends on the seeds by a path along which a derivative is passed."""
    reached: set[Value] = set()
    pending = list(seeds)
    while pending:
        value = pending.pop()
        if value in reached:
            continue
        reached.add(value)
        for target, step in facts.variation.made_from(value):
            if step.primitive != "stop_gradient" and kind_of(target.dtype).is_float:
                pending.append(target)
    return reached

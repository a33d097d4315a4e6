"""Integer operations whose exact result does not fit their dtype."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

from .facts import Facts
from .powers import Power, is_bounded_later, powers
from .program import Step, Value
from .ranges.bounds import add_bounds, mul_bounds, sub_bounds
from .ranges.identity import unarranged
from .ranges.interval import Interval, Kind, Number, kind_of
from .ranges.mixtures import mixed_bounds
from .ranges.reductions import sum_bounds

# Integers of so few bits hold pixels and the like, and are used up to their ends.
_SMALL = 1 << 16


@dataclass(frozen=True, eq=False)
class Overflow:
    """A step whose exact result can be a number that its dtype does not hold."""

    step: Step
    number: int
    is_subtraction: bool
    power: Power | None = None


def overflows(facts: Facts) -> Iterator[Overflow]:
    """Every integer operation of the user's code that is known to leave its dtype."""
    for step in facts.steps:
        if step.primitive not in _EXACT or not _is_asked_for(facts, step):
            continue
        kind = kind_of(step.outputs[0].dtype)
        if not kind.is_integer or _is_deliberate(facts, step):
            continue
        number = _outside(facts, step, kind)
        if number is not None:
            yield Overflow(step, number, step.primitive in ("sub", "neg"))

    for power in powers(facts.steps, facts.ranges.identities.equal):
        number = _highest(facts, power)
        kind = kind_of(power.step.outputs[0].dtype)
        is_small = kind.is_integer and kind.high - kind.low < _SMALL
        if not is_small or number is None or not _is_far_out(number, kind):
            continue
        is_used = power.step.outputs[0] in facts.live and not is_bounded_later(power)
        if is_used and _is_asked_for(facts, power.step):
            yield Overflow(power.step, number, False, power)


def _highest(facts: Facts, power: Power) -> int | None:
    base, exponent = facts.ranges[power.base].high, facts.ranges[power.exponent].high
    if not (math.isfinite(base) and base > 1 and 0 < exponent <= _SMALL):
        return None
    return int(base) ** min(int(exponent), int(_LARGEST // math.log2(base)))


# As a power of two, which is still a number to print.
_LARGEST = 1000


def _is_asked_for(facts: Facts, step: Step) -> bool:
    """Whether the user asked for a step, be it by the function of JAX that does nothing else."""
    around = step.within
    if around.owner is not None and around.place is None and around.function == step.primitive:
        step = around.owner
    return facts.is_in_users_function(step)


def _outside(facts: Facts, step: Step, kind: Kind) -> int | None:
    """A result that the program can compute and the dtype cannot hold."""
    operands = [facts.ranges[value] for value in step.inputs]
    candidates = [*_at_points(facts, step, operands)]
    if kind.high - kind.low < _SMALL and all(_is_integer(value) for value in step.inputs):
        bounds = mixed_bounds(facts.ranges, step) or _EXACT[step.primitive](step, operands)
        candidates += [it for it in bounds if _is_far_out(it, kind)]
    outside = [it for it in candidates if math.isfinite(it) and not kind.low <= it <= kind.high]
    return int(max(outside, key=abs)) if outside else None


def _is_far_out(number: Number, kind: Kind) -> bool:
    """Whether a number that nobody is known to compute is one that would be missed.

    Signed integers seldom hold their last numbers: a step to the next one is no danger.
    """
    spare = (kind.high - kind.low) // 16 if kind.low < 0 else 0
    return not kind.low - spare <= number <= kind.high + spare


def _is_integer(value: Value) -> bool:
    return kind_of(value.dtype).is_integer


def _at_points(facts: Facts, step: Step, operands: list[Interval]) -> Iterator[Number]:
    """Exact results where operands take numbers that they are known to take."""
    if step.primitive in ("reduce_sum", "cumsum"):
        return  # One of the elements takes it, and not all that are added up.
    if step.primitive == "mul" and facts.ranges.identities.equal(*step.inputs):
        for point in operands[0].points:
            yield point.value**2
        return
    if len(operands) == 2:
        shared = facts.ranges.identities.share_data(*step.inputs)
        if shared and not any(it.is_single for it in operands):
            return
    kind = kind_of(step.outputs[0].dtype)
    for chosen in itertools.product(*(operand.points for operand in operands)):
        singles = [Interval(point.value, point.value) for point in chosen]
        is_presumed = any(point.presumed for point in chosen)
        for number in _EXACT[step.primitive](step, singles):
            if not is_presumed or _is_far_out(number, kind):
                yield number


def _convert(step: Step, operands: list[Interval]) -> tuple[Number, Number]:
    if kind_of(step.inputs[0].dtype).letter not in "iuf":
        return 0, 0
    return operands[0].low, operands[0].high


def _dot(step: Step, operands: list[Interval]) -> tuple[Number, Number]:
    (contracted, _), _ = step.params["dimension_numbers"]
    count = math.prod(step.inputs[0].shape[axis] for axis in contracted)
    low, high = mul_bounds(*operands)
    return low * count, high * count


def _sum(step: Step, operands: list[Interval], axes: tuple[int, ...]) -> tuple[Number, Number]:
    (of,) = operands
    low, high = sum_bounds(of, math.prod(step.inputs[0].shape[axis] for axis in axes))
    return min(low, of.low), max(high, of.high)


def _added(step: Step, operands: list[Interval]) -> tuple[Number, Number]:
    """An element of an array to which any number of updates may be added."""
    target, _, updates = operands[:3]
    numbers = step.params["dimension_numbers"]
    whole = step.inputs[2].shape
    count = math.prod(
        size for axis, size in enumerate(whole) if axis not in numbers.update_window_dims
    )
    if step.params["unique_indices"]:
        count = 1
    low, high = min(0, updates.low * count), max(0, updates.high * count)
    return target.low + low, target.high + high


def _power(step: Step, operands: list[Interval]) -> tuple[Number, Number]:
    (base,) = operands
    ends = (base.low ** step.params["y"], base.high ** step.params["y"])
    return min(ends), max(ends)


_EXACT = {
    "add": lambda step, operands: add_bounds(*operands),
    "sub": lambda step, operands: sub_bounds(*operands),
    "mul": lambda step, operands: mul_bounds(*operands),
    "neg": lambda step, operands: (-operands[0].high, -operands[0].low),
    "square": lambda step, operands: mul_bounds(operands[0], operands[0]),
    "integer_pow": _power,
    "dot_general": _dot,
    "reduce_sum": lambda step, operands: _sum(step, operands, step.params["axes"]),
    "cumsum": lambda step, operands: _sum(step, operands, (step.params["axis"],)),
    "scatter-add": _added,
    "scatter_add": _added,
    "convert_element_type": _convert,
}


def _is_deliberate(facts: Facts, step: Step) -> bool:
    """Whether wrapping is meant or does not happen, although bounds would allow it."""
    if step.primitive == "integer_pow" and step.params["y"] < 0:
        return True
    output = step.outputs[0]
    if output not in facts.live or _is_index(output) or _is_one_of_several(step):
        return True
    if step.primitive == "sub" and _is_part_of(facts, *step.inputs):
        return True
    if step.primitive == "convert_element_type" and _reads_modulo(step):
        return True
    return bool(output.consumers) and all(
        _makes_up_for_it(facts, consumer, output, step) for consumer in output.consumers
    )


def _reads_modulo(cast: Step) -> bool:
    """Whether this reads a difference of unsigned integers as the signed one that it stands for."""
    before, after = kind_of(cast.inputs[0].dtype), kind_of(cast.outputs[0].dtype)
    producer = cast.inputs[0].producer
    return (
        (before.letter, after.letter) == ("u", "i")
        and before.high - before.low == after.high - after.low
        and producer is not None
        and producer.primitive in ("sub", "neg", "xor", "not")
    )


def _is_index(value: Value) -> bool:
    """Whether this is `i + n` of indexing's own `where(i < 0, i + n, i)`."""
    return any(
        consumer.primitive == "select_n"
        and consumer.inputs[0].producer is not None
        and consumer.inputs[0].producer.primitive == "lt"
        for consumer in value.consumers
    )


def _is_one_of_several(step: Step, deep: int = 0) -> bool:
    """Whether a call computes this on its way, and only takes it where it is needed.

    An integer power squares its base a fixed number of times, and multiplies those squares that
    its exponent asks for.
    """
    consumers = [it for it in step.outputs[0].consumers if it.kind != "call"]
    return bool(consumers) and all(
        _site(it) == _site(step)
        and (
            (it.primitive == "select_n" and step.outputs[0] is not it.inputs[0])
            or not it.outputs[0].consumers
            or (it.primitive == "mul" and deep < _SQUARES and _is_one_of_several(it, deep + 1))
        )
        for it in consumers
    )


_SQUARES = 8


def _site(step: Step) -> object:
    """The instruction in code that is not JAX's on whose behalf a step runs.

    What a function of JAX does inside has the stack of whoever called it first.
    """
    while step.within.place is None and step.within.owner is not None:
        step = step.within.owner
    return step.call_site


def _makes_up_for_it(facts: Facts, consumer: Step, value: Value, step: Step) -> bool:
    """Whether a consumer reads the difference modulo 2ⁿ, or only where it did not wrap."""
    if consumer.primitive == "convert_element_type":
        return _reads_modulo(consumer)
    if consumer.primitive == "select_n" and value is not consumer.inputs[0]:
        predicate = consumer.inputs[0]
        return any(
            facts.ranges.identities.share_data(predicate, operand) for operand in step.inputs
        )
    if consumer.kind == "call":
        # Its body's steps consume the same value.
        return True
    return consumer.primitive in ("and", "xor", "shift_left", "bitcast_convert_type", "rem")


def _is_part_of(facts: Facts, whole: Value, part: Value) -> bool:
    """Whether the second operand is never more than the first: `max(a, b) - b`, `a - a % n`."""
    equal = facts.ranges.identities.equal
    above, below = unarranged(whole).producer, unarranged(part).producer
    if above is not None and above.primitive == "max":
        if any(equal(value, part) for value in above.inputs):
            return True
        if below is not None and below.primitive == "min":
            return {id(facts.ranges.identities.of(it)) for it in above.inputs} == {
                id(facts.ranges.identities.of(it)) for it in below.inputs
            }
    if below is not None and below.within.function in ("remainder", "floor_divide"):
        owner = below.within.owner
        return owner is not None and equal(owner.inputs[0], whole)
    if below is None or below.primitive not in ("min", "rem", "and", "shift_right_logical", "div"):
        return False
    if below.primitive == "min":
        return any(equal(value, whole) for value in below.inputs)
    return equal(below.inputs[0], whole)

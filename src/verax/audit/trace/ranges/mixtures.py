"""Weighted sums whose weights add up to a constant: `x * a + y * (255 - a)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step, Value
from .identity import unarranged
from .interval import Number, kind_of

if TYPE_CHECKING:
    from .analysis import Ranges


def mixed_bounds(ranges: Ranges, step: Step) -> tuple[Number, Number] | None:
    """The bounds of such a sum of integers: those of what is mixed, times the sum of the weights.

    Only of integers: others are rounded.
    """
    if step.primitive != "add" or not kind_of(step.outputs[0].dtype).is_integer:
        return None
    one, other = (_factors(it) for it in step.inputs)
    for x, weight in one:
        for y, rest in other:
            total = _total(ranges, weight, rest) or _total(ranges, rest, weight)
            if total is not None:
                mixed = ranges[x].union(ranges[y])
                return mixed.low * total, mixed.high * total
    return None


def _factors(value: Value) -> list[tuple[Value, Value]]:
    product = unarranged(value).producer
    if product is None or product.primitive != "mul":
        return []
    one, other = product.inputs
    return [(one, other), (other, one)]


def _total(ranges: Ranges, weight: Value, rest: Value) -> Number | None:
    """The constant of which a weight is one part, and the rest the other."""
    step = unarranged(rest).producer
    if step is None or step.primitive != "sub":
        return None
    whole, part = step.inputs
    total, taken = ranges[whole], ranges[part]
    if not total.is_single or not total.high > 0 or taken.low < 0 or taken.high > total.high:
        return None
    same = ranges.identities.equal(unarranged(part), unarranged(weight))
    return total.high if same else None

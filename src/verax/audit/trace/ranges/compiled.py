"""What becomes of arithmetic with constants once it is compiled.

XLA does not compute `(1 - p) + 1e-9` as it is written. It takes the constants of a chain together,
which makes that `1 - p`, since 32 bits do not hold `1 + 1e-9`. It multiplies by `1 / c` in place of
dividing by `c`, and does not round a product that it adds to something in one instruction. Bounds
have to hold for what is written, which runs outside of `jit`, and for what is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..program import Step, Value
from .bounds import add_bounds, mul_bounds
from .identity import unarranged
from .interval import Interval, Number, fitted, kind_of

if TYPE_CHECKING:
    from .analysis import Ranges

# Links of a chain that are looked at.
_LONGEST = 16


@dataclass(frozen=True)
class _Chain:
    """`base + fixed` or `-base + fixed`, or else `base * fixed`."""

    base: Value
    fixed: Interval
    negative: bool = False


def as_compiled(ranges: Ranges, step: Step, written: Interval) -> Interval:
    """The bounds of a sum, difference, product or quotient, with those of its compiled form."""
    dtype = step.outputs[0].dtype
    if not kind_of(dtype).is_float:
        return written
    if step.primitive in ("add", "sub"):
        forms = _forms_of_sum(ranges, step)
    else:
        chain = _product(ranges, step)
        forms = [] if chain is None else [_scaled(ranges, chain, dtype, is_rounded=True)]
    found = written
    for form in forms:
        found = found.union(form)
    return replace(found, integral=written.integral, points=written.points)


def _forms_of_sum(ranges: Ranges, step: Step) -> list[Interval]:
    """A sum whose products are not rounded before they are added, and one of all constants."""
    one, other = (_unrounded(ranges, it) for it in step.inputs)
    dtype = step.outputs[0].dtype
    forms: list[Interval] = []
    if one is not None or other is not None:
        a, b = one or ranges[step.inputs[0]], other or ranges[step.inputs[1]]
        total = add_bounds(a, _negative(b) if step.primitive == "sub" else b)
        forms.append(fitted(*total, dtype, nan=a.nan or b.nan))
    chain = _sum(ranges, step)
    if chain is not None:
        base = _unrounded(ranges, chain.base) or ranges[chain.base]
        total = add_bounds(_negative(base) if chain.negative else base, chain.fixed)
        forms.append(fitted(*total, dtype, nan=base.nan))
    return forms


def _unrounded(ranges: Ranges, value: Value) -> Interval | None:
    """Bounds of a product by a folded constant as a fused multiply-add takes it."""
    step = unarranged(value).producer
    chain = _product(ranges, step) if step is not None else None
    if chain is None:
        return None
    return ranges[value].union(_scaled(ranges, chain, value.dtype, is_rounded=False))


def _scaled(ranges: Ranges, chain: _Chain, dtype: Any, *, is_rounded: bool) -> Interval:
    base = ranges[chain.base]
    undefined = not chain.fixed.is_bounded and base.contains(0)
    ends = mul_bounds(base, chain.fixed)
    if is_rounded:  # To the nearest number, which keeps the order.
        held = _held(*ends, dtype)
        ends = held.low, held.high
    return fitted(*ends, dtype, nan=base.nan or undefined)


def _sum(ranges: Ranges, step: Step) -> _Chain | None:
    """A sum as one of a value and all constants on the way to it, if there are several."""
    link = _summed(ranges, step)
    for count in range(_LONGEST):
        further = link and _summed(ranges, unarranged(link.base).producer)
        if link is None or further is None:
            return link if count else None
        low, high = add_bounds(
            link.fixed, _negative(further.fixed) if link.negative else further.fixed
        )
        fixed = _held(low, high, step.outputs[0].dtype)
        link = _Chain(further.base, fixed, link.negative != further.negative)
    return None


def _summed(ranges: Ranges, step: Step | None) -> _Chain | None:
    if step is None or step.kind != "operation" or step.primitive not in ("add", "sub"):
        return None
    one, other = step.inputs
    is_difference = step.primitive == "sub"
    if _is_fixed(ranges, one):
        return None if _is_fixed(ranges, other) else _Chain(other, ranges[one], is_difference)
    if _is_fixed(ranges, other):
        fixed = ranges[other]
        return _Chain(one, _negative(fixed) if is_difference else fixed)
    return None


def _product(ranges: Ranges, step: Step | None) -> _Chain | None:
    """A product or quotient as one product of a value and all constants on the way to it."""
    link = _multiplied(ranges, step)
    is_other = step is not None and step.primitive == "div"
    for _ in range(_LONGEST):
        further = link and _multiplied(ranges, unarranged(link.base).producer)
        if link is None or further is None:
            return link if is_other else None
        fixed = _held(*mul_bounds(link.fixed, further.fixed), link.base.dtype)
        link, is_other = _Chain(further.base, fixed), True
    return None


def _multiplied(ranges: Ranges, step: Step | None) -> _Chain | None:
    if step is None or step.kind != "operation" or step.primitive not in ("mul", "div"):
        return None
    one, other = step.inputs
    if step.primitive == "div":
        by = ranges[other]
        if not _is_fixed(ranges, other) or _is_fixed(ranges, one) or by.contains(0):
            return None
        # Of one sign: the greater the divisor, the smaller the factor.
        return _Chain(one, _held(1 / by.high, 1 / by.low, step.outputs[0].dtype))
    if _is_fixed(ranges, one) != _is_fixed(ranges, other):
        return _Chain(other, ranges[one]) if _is_fixed(ranges, one) else _Chain(one, ranges[other])
    return None


def _is_fixed(ranges: Ranges, value: Value) -> bool:
    """Whether a value is known to the compiler."""
    return value.is_constant or ranges.identities.is_by_position(value)


def _negative(interval: Interval) -> Interval:
    return Interval(-interval.high, -interval.low, interval.nan)


def _held(low: Number, high: Number, dtype: Any) -> Interval:
    """Constants that were combined, as a dtype holds them."""
    kind = kind_of(dtype)
    return Interval(float(kind.number(low)), float(kind.number(high)))

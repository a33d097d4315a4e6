"""Powers of integers with exponents that are data.

JAX computes one by squaring the base a fixed number of times, and multiplies those squares that the
bits of the exponent ask for: none of these products tells by itself what the power can be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from .program import Step, Value

_ORDERS = frozenset(("lt", "le", "gt", "ge"))
_SAME = frozenset("convert_element_type broadcast_in_dim reshape squeeze copy".split())
# What turns flags into flags.
_OF_FLAGS = _SAME | {"and", "or", "not", "xor"}
_MOST = 200


@dataclass(frozen=True, eq=False)
class Power:
    """A base, an exponent, and the last step that multiplies."""

    base: Value
    exponent: Value
    step: Step


def powers(steps: Iterable[Step], equal: Callable[[Value, Value], bool]) -> Iterator[Power]:
    """All powers of integers by integers that are not known."""
    by_site: dict[object, list[Step]] = {}
    for step in steps:
        if step.call_site is not None and step.kind == "operation":
            by_site.setdefault((step.call_site, id(step.within)), []).append(step)
    for found in by_site.values():
        shifts = [it for it in found if it.primitive == "shift_right_logical"]
        squares = [it for it in found if it.primitive == "mul" and equal(*it.inputs)]
        products = [it for it in found if it.primitive == "mul" and it not in squares]
        if shifts and squares and products and _asks_for_bits(found, shifts[0].inputs[0]):
            yield Power(squares[0].inputs[0], shifts[0].inputs[0], products[-1])


def _asks_for_bits(steps: list[Step], exponent: Value) -> bool:
    return any(it.primitive == "and" and it.inputs[0] is exponent for it in steps)


def is_bounded_later(power: Power) -> bool:
    """Whether a power is only taken where a comparison may have found its exponent small enough."""
    pending, seen = list(power.step.outputs), set(power.step.outputs)
    while pending and len(seen) < _MOST:
        for user in pending.pop().consumers:
            is_own = user.call_site == power.step.call_site
            if user.primitive == "select_n" and not is_own:
                if _is_of_order(user.inputs[0]):
                    return True
            elif is_own or user.kind == "call" or user.primitive in _SAME:
                new = [it for it in user.outputs if it not in seen]
                seen.update(new)
                pending.extend(new)
    return False


def _is_of_order(flag: Value) -> bool:
    """Whether a flag is made of comparisons of which one is larger or smaller."""
    pending, seen = [flag], {flag}
    while pending and len(seen) < _MOST:
        step = pending.pop().producer
        if step is None or step.primitive in _ORDERS:
            return True
        if step.primitive in _OF_FLAGS or step.kind == "call":
            new = [it for it in step.inputs if it not in seen]
            seen.update(new)
            pending.extend(new)
    return False

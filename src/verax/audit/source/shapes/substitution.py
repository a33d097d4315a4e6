"""Sizes put in the place of symbols: what a callee's shapes are for one of its callers."""

from __future__ import annotations

from collections.abc import Mapping

from .dims import Derived, Dim, Size, add, floordiv, minimum, mul, symbol
from .shape import Partial, Shape


def substitute(dim: Dim, values: Mapping[str, Dim]) -> Dim:
    """The size where symbols have these values; symbols without one stay."""
    if not isinstance(dim, Size):
        return dim
    result: Dim = 0
    for monomial, factor in dim.terms:
        term: Dim = factor
        for name in monomial:
            term = mul(term, _value(name, values))
        result = add(result, term)
    return result


def _value(name: str, values: Mapping[str, Dim]) -> Dim:
    if isinstance(name, Derived):
        first, second = (substitute(operand, values) for operand in name.operands)
        return floordiv(first, second) if name.operation == "//" else minimum(first, second)
    return values[name] if name in values else symbol(name)


def substitute_shape(shape: Shape, values: Mapping[str, Dim]) -> Shape:
    """The shape where symbols have these values."""
    if shape is None:
        return None
    if isinstance(shape, Partial):
        return Partial(
            tuple(substitute(dim, values) for dim in shape.lead),
            tuple(substitute(dim, values) for dim in shape.trail),
        )
    return tuple(substitute(dim, values) for dim in shape)

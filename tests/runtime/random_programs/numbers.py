"""Integers with exact derivatives: what the reference computes with.

A number is a polynomial in infinitesimals whose squares are zero. One run with `x + dx` in the
place of `x` gives the derivative by `x`, also inside of a derivative by something else.
"""

from __future__ import annotations

from dataclasses import dataclass

LARGEST = 2**22
"""Up to here, `float32` adds and multiplies integers exactly, with a margin."""

Infinitesimals = frozenset[int]
_NONE: Infinitesimals = frozenset()


class TooLargeError(ArithmeticError):
    """A derivative that JAX may have to round."""


@dataclass(frozen=True)
class Number:
    """An integer and its derivatives.

    `sizes` bounds each part by what it would be if nothing cancelled. The reverse mode adds
    up the same products in another order, and all its sums are within these bounds.
    """

    parts: dict[Infinitesimals, int]
    sizes: dict[Infinitesimals, int]

    def __post_init__(self) -> None:
        if max(self.sizes.values(), default=0) > LARGEST:
            raise TooLargeError

    @property
    def value(self) -> int:
        return self.parts.get(_NONE, 0)

    def __add__(self, other: Number | int) -> Number:
        other = exact(other)
        return Number(_added(self.parts, other.parts), _added(self.sizes, other.sizes))

    def __mul__(self, other: Number | int) -> Number:
        other = exact(other)
        return Number(_multiplied(self.parts, other.parts), _multiplied(self.sizes, other.sizes))

    def modulo(self, modulus: int) -> Number:
        """The remainder; taking it leaves all derivatives as they are."""
        value = self.value % modulus
        return Number({**self.parts, _NONE: value}, {**self.sizes, _NONE: value})

    def without(self, *infinitesimals: int) -> Number:
        """The number when these infinitesimals are zero."""

        def stay(parts: dict[Infinitesimals, int]) -> dict[Infinitesimals, int]:
            return {s: part for s, part in parts.items() if s.isdisjoint(infinitesimals)}

        return Number(stay(self.parts), stay(self.sizes))

    def derivative(self, infinitesimal: int, *others: int) -> Number:
        """The derivative by one infinitesimal when the others are zero."""
        rest = self.without(*others)

        def divided(parts: dict[Infinitesimals, int]) -> dict[Infinitesimals, int]:
            return {s - {infinitesimal}: part for s, part in parts.items() if infinitesimal in s}

        return Number(divided(rest.parts), divided(rest.sizes))

    def constant(self) -> Number:
        """The number alone, without derivatives."""
        return exact(self.value)

    def with_derivatives_of(self, other: Number, factor: int) -> Number:
        """This number's value, and the other's derivatives times a factor."""
        slopes = other + -other.value
        own = self.constant()
        scaled = slopes * factor
        return Number({**scaled.parts, **own.parts}, {**scaled.sizes, **own.sizes})


def exact(value: Number | int) -> Number:
    if isinstance(value, Number):
        return value
    return Number({_NONE: value}, {_NONE: abs(value)})


def infinitesimal(name: int, factor: int = 1) -> Number:
    key = frozenset([name])
    return Number({key: factor}, {key: abs(factor)})


def _added(x: dict[Infinitesimals, int], y: dict[Infinitesimals, int]) -> dict[Infinitesimals, int]:
    return {s: x.get(s, 0) + y.get(s, 0) for s in x.keys() | y.keys()}


def _multiplied(
    x: dict[Infinitesimals, int], y: dict[Infinitesimals, int]
) -> dict[Infinitesimals, int]:
    product: dict[Infinitesimals, int] = {}
    for s, left in x.items():
        for t, right in y.items():
            if s.isdisjoint(t):
                product[s | t] = product.get(s | t, 0) + left * right
    return product

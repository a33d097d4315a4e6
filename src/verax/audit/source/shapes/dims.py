"""Sizes of axes: numbers, integer polynomials over named symbols, or unknown.

`None` is an unknown size: nothing is said about it, and two of them need not be equal. A `Size` is
a polynomial such as `b*t + 1` in a normal form, so that equal sizes are equal objects.

A symbol stands for a size *in general*. `same` knows only that it is not negative; the questions
asked of programs (`differ`) leave out the few values for which an answer happens to be another
one: `x[1:] + x` is an error although it works for an `x` of two elements.
"""

from __future__ import annotations

from typing import TypeAlias

Monomial: TypeAlias = tuple[str, ...]

# Polynomials that grow beyond this say nothing a reader could use, and cost more than they tell.
_MOST_TERMS = 12


class Size:
    """An integer polynomial over named symbols, never a constant: that would be an `int`."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]):
        self.terms = terms
        self._hash = hash(terms)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Size) and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return show(self)

    def __reduce__(self):
        # Hashes of strings differ between processes: made again where it is read.
        return Size, (self.terms,)


Dim: TypeAlias = int | Size | None


class Derived(str):
    """The symbol of a size that is no polynomial: `n//2`, `min(n, 8)`.

    `operation` is "//" or "min". It exceeds none of its `bounds`.
    """

    operation: str
    operands: tuple[Dim, Dim]

    @property
    def bounds(self) -> tuple[Dim, ...]:
        """Sizes that it cannot exceed."""
        return self.operands[:1] if self.operation == "//" else self.operands


def _derived(name: str, operation: str, a: Dim, b: Dim) -> Size:
    derived = Derived(name)
    derived.operation = operation
    derived.operands = (a, b)
    return symbol(derived)


def symbol(name: str) -> Size:
    """The size that this name stands for."""
    return Size((((name,), 1),))


def _terms(dim: int | Size) -> dict[Monomial, int]:
    if isinstance(dim, Size):
        return dict(dim.terms)
    return {(): dim} if dim else {}


def _normal(terms: dict[Monomial, int]) -> Dim:
    kept = [(monomial, factor) for monomial, factor in terms.items() if factor]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    if len(kept) > _MOST_TERMS:
        return None
    kept.sort()
    return Size(tuple(kept))


def add(a: Dim, b: Dim) -> Dim:
    """The sum."""
    if type(a) is int and type(b) is int:
        return a + b
    if a is None or b is None:
        return None
    terms = _terms(a)
    for monomial, factor in _terms(b).items():
        terms[monomial] = terms.get(monomial, 0) + factor
    return _normal(terms)


def sub(a: Dim, b: Dim) -> Dim:
    """The difference. It may be negative, as sizes are not."""
    if type(a) is int and type(b) is int:
        return a - b
    return add(a, mul(b, -1))


def mul(a: Dim, b: Dim) -> Dim:
    """The product."""
    if type(a) is int and type(b) is int:
        return a * b
    if a == 0 or b == 0:
        return 0
    if a is None or b is None:
        return None
    if a == 1:
        return b
    if b == 1:
        return a
    terms: dict[Monomial, int] = {}
    others = _terms(b).items()
    for monomial, factor in _terms(a).items():
        for other, by in others:
            joined = tuple(sorted(monomial + other))
            terms[joined] = terms.get(joined, 0) + factor * by
    return _normal(terms)


def product(dims: tuple[Dim, ...]) -> Dim:
    """The product of all; of none it is one."""
    result: Dim = 1
    for dim in dims:
        result = mul(result, dim)
    return result


def total(dims: tuple[Dim, ...]) -> Dim:
    """The sum of all."""
    result: Dim = 0
    for dim in dims:
        result = add(result, dim)
    return result


def _without(monomial: Monomial, part: Monomial) -> Monomial | None:
    """The other factors of a monomial, if it has all of `part`."""
    rest = list(monomial)
    for name in part:
        if name not in rest:
            return None
        rest.remove(name)
    return tuple(rest)


def exact_quotient(a: Dim, b: Dim) -> Dim:
    """`a / b` if `b` divides `a` whatever the symbols are, otherwise None."""
    if a is None or b is None or b == 0:
        return None
    if type(a) is int and type(b) is int:
        return a // b if a % b == 0 else None
    rest, divisor = _terms(a), _terms(b)
    lead = max(divisor, key=_order)
    quotient: dict[Monomial, int] = {}
    while rest:
        largest = max(rest, key=_order)
        shared = _without(largest, lead)
        if shared is None or rest[largest] % divisor[lead]:
            return None
        factor = rest[largest] // divisor[lead]
        quotient[shared] = quotient.get(shared, 0) + factor
        for monomial, by in divisor.items():
            key = tuple(sorted(shared + monomial))
            rest[key] = rest.get(key, 0) - factor * by
            if not rest[key]:
                del rest[key]
    return _normal(quotient)


def _order(monomial: Monomial) -> tuple[int, Monomial]:
    return len(monomial), monomial


def floordiv(a: Dim, b: Dim) -> Dim:
    """`a // b`: exact where `b` divides `a`, otherwise a symbol of its own such as `n//2`."""
    if type(a) is int and type(b) is int:
        return a // b if b else None
    exact = exact_quotient(a, b)
    if exact is not None or a is None or b is None or b == 0:
        return exact
    if type(b) is not int:
        return _quotient(a, b) if _never_negative(a) else None
    if b < 0:
        return None
    # Multiples of the divisor leave the quotient: (2*n + 3)//2 is n + 1, as 3//2 is 1.
    whole = {monomial: factor // b for monomial, factor in _terms(a).items()}
    rest = _normal({monomial: factor % b for monomial, factor in _terms(a).items()})
    if isinstance(a, Size) and all(factor <= 0 for _, factor in a.terms):
        # -(-n//2), the idiom for rounding up.
        return mul(floordiv(add(mul(a, -1), b - 1), b), -1)
    if type(rest) is int:
        return _normal(whole)
    return add(_normal(whole), _quotient(rest, b))


def _quotient(a: Dim, b: Dim) -> Size:
    return _derived(f"{_factor(a)}//{_factor(b)}", "//", a, b)


def _never_negative(dim: int | Size) -> bool:
    return all(factor > 0 or not monomial for monomial, factor in _terms(dim).items())


def minimum(a: Dim, b: Dim) -> Dim:
    """The smaller one, a symbol of its own if that cannot be told."""
    if type(a) is int and type(b) is int:
        return min(a, b)
    if a is None or b is None:
        return None
    if at_least(a, b):
        return b
    if at_least(b, a):
        return a
    first, second = sorted((show(a), show(b)))
    return _derived(f"min({first}, {second})", "min", a, b)


def at_least(a: Dim, b: Dim) -> bool | None:
    """Whether `a >= b`."""
    if type(a) is int and type(b) is int:
        return a >= b
    difference = sub(a, b)
    if difference is None:
        return None
    factors = _terms(difference)
    if all(factor >= 0 for factor in factors.values()):
        return True
    if all(factor <= 0 for factor in factors.values()) and factors.get(()):
        return False
    if isinstance(b, Size) and len(b.terms) == 1 and len(b.terms[0][0]) == 1:
        name = b.terms[0][0][0]
        if b.terms[0][1] == 1 and isinstance(name, Derived) and a in name.bounds:
            return True
    return None


def at_least_one(dim: Dim) -> bool | None:
    """Whether the axis has any element."""
    return at_least(dim, 1)


def same(a: Dim, b: Dim) -> bool | None:
    """Whether two sizes are equal: for sure, for sure not, or (None) it depends."""
    if type(a) is int and type(b) is int:
        return a == b
    if a is None or b is None:
        return None
    if a == b:
        return True
    difference = sub(a, b)
    factors = _terms(difference) if difference is not None else {}
    constant = factors.get((), 0)
    return False if constant and all(factor * constant > 0 for factor in factors.values()) else None


def differ(a: Dim, b: Dim) -> bool:
    """Whether two sizes are different for all but a few values of their symbols."""
    if type(a) is int and type(b) is int:
        return a != b
    if a is None or b is None or a == b:
        return False
    difference = sub(a, b)
    if difference is None:
        return False
    factors = _terms(difference)
    signs = {factor > 0 for factor in factors.values()}
    # A number is not "in general" different from a symbol: nothing is said of n and 0.
    return len(signs) == 1 and (type(a) is type(b) or () in factors)


def _factor(dim: Dim) -> str:
    text = show(dim)
    return f"({text})" if isinstance(dim, Size) and not text.isidentifier() else text


def show(dim: Dim) -> str:
    """The size as a reader would write it; `?` if it is unknown."""
    if not isinstance(dim, Size):
        return "?" if dim is None else str(dim)
    text = ""
    for monomial, factor in sorted(dim.terms, key=lambda term: (-len(term[0]), term[0])):
        sign = " - " if factor < 0 else " + "
        names = [*([str(abs(factor))] if abs(factor) != 1 or not monomial else []), *monomial]
        text += (sign if text else sign.strip(" +")) + "*".join(names)
    return text

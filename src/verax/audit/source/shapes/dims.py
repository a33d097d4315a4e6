"""Sizes of axes: numbers, integer polynomials over named symbols, or unknown.

`None` is an unknown size: nothing is said about it, and two of them need not be equal. A `Size` is
a polynomial such as `b*t + 1` in a normal form, so that equal sizes are equal objects.

A symbol stands for a size *in general*. `same` knows only that it is not negative; the questions
asked of programs (`differ`) leave out the few values for which an answer happens to be another
one: `x[1:] + x` is an error although it works for an `x` of two elements.
"""

from __future__ import annotations

from functools import lru_cache

from .names import meet
from .polynomial import Derived as Derived
from .polynomial import Dim as Dim
from .polynomial import Monomial, as_factor, derived_symbol, normal, terms_of
from .polynomial import Size as Size
from .polynomial import show as show
from .polynomial import symbol as symbol

# The same few symbols meet again and again in a program.
_remembered = lru_cache(maxsize=8192)


def add(a: Dim, b: Dim) -> Dim:
    """The sum."""
    if type(a) is int and type(b) is int:
        return a + b
    return None if a is None or b is None else _sum(a, b)


@_remembered
def _sum(a: int | Size, b: int | Size) -> Dim:
    terms = terms_of(a)
    for monomial, factor in terms_of(b).items():
        terms[monomial] = terms.get(monomial, 0) + factor
    return normal(terms)


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
    return _product(a, b)


@_remembered
def _product(a: int | Size, b: int | Size) -> Dim:
    terms: dict[Monomial, int] = {}
    others = terms_of(b).items()
    for monomial, factor in terms_of(a).items():
        for other, by in others:
            joined = tuple(sorted(monomial + other))
            terms[joined] = terms.get(joined, 0) + factor * by
    return normal(terms)


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
    return 1 if a == b else _polynomial_quotient(a, b)


@_remembered
def _polynomial_quotient(a: int | Size, b: int | Size) -> Dim:
    rest, divisor = terms_of(a), terms_of(b)
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
    return normal(quotient)


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
    whole = {monomial: factor // b for monomial, factor in terms_of(a).items()}
    rest = normal({monomial: factor % b for monomial, factor in terms_of(a).items()})
    if isinstance(a, Size) and all(factor <= 0 for _, factor in a.terms):
        # -(-n//2), the idiom for rounding up.
        return mul(floordiv(add(mul(a, -1), b - 1), b), -1)
    if type(rest) is int:
        return normal(whole)
    return add(normal(whole), _quotient(rest, b))


def _quotient(a: Dim, b: Dim) -> Size:
    return derived_symbol(f"{as_factor(a)}//{as_factor(b)}", "//", a, b)


def _never_negative(dim: int | Size) -> bool:
    return all(factor > 0 or not monomial for monomial, factor in terms_of(dim).items())


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
    return derived_symbol(f"min({first}, {second})", "min", a, b)


def at_least(a: Dim, b: Dim) -> bool | None:
    """Whether `a >= b`."""
    if type(a) is int and type(b) is int:
        return a >= b
    difference = sub(a, b)
    if difference is None:
        return None
    factors = terms_of(difference)
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
    return True if a == b else _never_equal(a, b)


@_remembered
def _never_equal(a: int | Size, b: int | Size) -> bool | None:
    """False if so, for `same`."""
    difference = sub(a, b)
    factors = terms_of(difference) if difference is not None else {}
    constant = factors.get((), 0)
    return False if constant and all(factor * constant > 0 for factor in factors.values()) else None


def differ(a: Dim, b: Dim) -> bool:
    """Whether two sizes are different for all but a few values of their symbols."""
    if type(a) is int and type(b) is int:
        return a != b
    if a is None or b is None or a == b:
        return False
    meet(a, b)
    return _differ(a, b)


@_remembered
def _differ(a: int | Size, b: int | Size) -> bool:
    difference = sub(a, b)
    if difference is None:
        return False
    if _is_share(a, b) or _is_share(b, a):
        return True
    factors = terms_of(difference)
    signs = {factor > 0 for factor in factors.values()}
    # A number is not "in general" different from a symbol: nothing is said of n and 0.
    return len(signs) == 1 and (type(a) is type(b) or () in factors)


def _is_share(part: int | Size, whole: int | Size) -> bool:
    """Whether a size is a half, a third … of another one: they are equal only if there is none."""
    monomial, factor = part.terms[0] if isinstance(part, Size) else ((), 0)
    name = monomial[0] if len(monomial) == 1 and factor == 1 else None
    if not isinstance(name, Derived) or part != symbol(name) or name.operation != "//":
        return False
    divisor = name.operands[1]
    return name.operands[0] == whole and type(divisor) is int and divisor > 1

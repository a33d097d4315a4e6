"""Sizes as products of their parts, and reshapes that put these in another order."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, product

from .dims import Derived, Dim, Size, exact_quotient, mul, symbol
from .shape import Known, Shape, known
from .substitution import substitute

# Axes that are divided in one reshape, at most.
_MOST = 6


def crossed_axes(old: Shape, new: Shape) -> tuple[int, int] | None:
    """An old and a new axis that end at places of which neither comes before the other.

    Elements lie in memory by the factors of the sizes, `h // k, k, w // k, k`. A reshape draws its
    borders anew, each between two of them or within one: what lies before a border is some of what
    lies before another, and divides it. `h // k * w // k` neither divides `h` nor is divided by it:
    `x.reshape(h // k * w // k, -1)` of an `x` with (h, w) cuts rows into strips, and no patches.

    Sizes that differ by numbers alone may share factors that no symbol shows: nothing is said.
    """
    before, after = known(old), known(new)
    if before is None or after is None or None in before or None in after:
        return None
    before, after = _in_whole_parts(before, after)
    first, second = (list(accumulate(it, mul)) for it in (before, after))
    if not first or not second or first[-1] != second[-1]:
        return None
    pairs = product(enumerate(first), enumerate(second))
    return next(((i, j) for (i, one), (j, other) in pairs if _cross(one, other)), None)


def _cross(one: Dim, other: Dim) -> bool:
    """Whether neither number of elements is a multiple of the other, whatever the symbols are."""
    if not isinstance(one, Size) and not isinstance(other, Size):
        return False
    if exact_quotient(one, other) is not None or exact_quotient(other, one) is not None:
        return False
    return _symbols(one) != _symbols(other)


def _symbols(dim: Dim) -> list[tuple[str, ...]]:
    return [monomial for monomial, _ in dim.terms] if isinstance(dim, Size) else [()]


def _in_whole_parts(before: Known, after: Known) -> tuple[Known, Known]:
    """Both shapes with `k * part` for an axis that is divided by `k`, and `part` for `h // k`.

    As many elements remain in a reshape, so that its divisions leave no rest.
    """
    for _ in range(_MOST):
        found = next(_divided(before, after), None)
        if found is None:
            break
        name, by = found
        parts = {name: mul(by, symbol(f"part of {name}"))}
        before, after = (tuple(substitute(it, parts) for it in dims) for dims in (before, after))
    return before, after


def _divided(before: Known, after: Known) -> Iterator[tuple[str, int | Size]]:
    """Sizes of old axes of which a new one holds a part, and what they are divided by."""
    own = {name for it in before if isinstance(it, Size) for name in it.symbols}
    for name in (name for it in after if isinstance(it, Size) for name in sorted(it.symbols)):
        if not isinstance(name, Derived) or name.operation != "//":
            continue
        whole, by = name.operands
        names = whole.symbols if isinstance(whole, Size) else frozenset[str]()
        if len(names) != 1 or whole != symbol(next(iter(names))) or by is None:
            continue
        if names <= own and not (isinstance(by, Size) and names & by.symbols):
            yield next(iter(names)), by

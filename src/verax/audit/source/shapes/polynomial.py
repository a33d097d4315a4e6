"""The normal form of symbolic sizes: integer polynomials over named symbols."""

from __future__ import annotations

from typing import TypeAlias

Monomial: TypeAlias = tuple[str, ...]

# Polynomials that grow beyond this say nothing a reader could use, and cost more than they tell.
_MOST_TERMS = 12


class Size:
    """An integer polynomial over named symbols, never a constant: that would be an `int`."""

    __slots__ = ("_hash", "terms")

    def __init__(self, terms: tuple[tuple[Monomial, int], ...]):
        self.terms: tuple[tuple[Monomial, int], ...] = terms
        self._hash = hash(terms)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Size) and self.terms == other.terms)

    def __hash__(self) -> int:
        return self._hash

    @property
    def symbols(self) -> frozenset[str]:
        """The names that occur in it."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    def __repr__(self) -> str:
        return show(self)

    def __reduce__(self) -> tuple[type[Size], tuple[tuple[tuple[Monomial, int], ...]]]:
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


def derived_symbol(name: str, operation: str, a: Dim, b: Dim) -> Size:
    """The symbol for an operation on two sizes."""
    derived = Derived(name)
    derived.operation = operation
    derived.operands = (a, b)
    return symbol(derived)


def symbol(name: str) -> Size:
    """The size that this name stands for."""
    return Size((((name,), 1),))


def terms_of(dim: int | Size) -> dict[Monomial, int]:
    """The factor of each monomial; that of `()` is the constant."""
    if isinstance(dim, Size):
        return dict(dim.terms)
    return {(): dim} if dim else {}


def normal(terms: dict[Monomial, int]) -> Dim:
    """The size with these terms; unknown if they are too many."""
    kept = [(monomial, factor) for monomial, factor in terms.items() if factor]
    if not kept:
        return 0
    if len(kept) == 1 and not kept[0][0]:
        return kept[0][1]
    if len(kept) > _MOST_TERMS:
        return None
    kept.sort()
    size = Size(tuple(kept))
    # One is not a size as others are: it broadcasts.
    return 1 if len(kept) > 1 and number_of(size) == 1 else size


def number_of(dim: Dim) -> int | None:
    """How much a size is in the program's own example, if all its symbols have a number there."""
    if not isinstance(dim, Size):
        return dim
    total = 0
    for monomial, factor in dim.terms:
        for name in monomial:
            number: int | None = getattr(name, "number", None)
            if number is None:
                return None
            factor *= number
        total += factor
    return total


def as_factor(dim: Dim) -> str:
    """The size within a product or quotient."""
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

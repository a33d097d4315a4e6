"""Sizes of axes that someone gave a name, and operations that pair axes with different names."""

from __future__ import annotations

from ...words import are_twins, is_batch
from .polynomial import Dim, Size, symbol

# The scope of names that are given by the way (`batch, time = x.shape`): two of them may be two
# words for one thing, unless one is of the batch and one of time.
PASSING = "~"


class Named(str):
    """The symbol of an axis with a name: `batch`.

    Its text is the name and, behind a `#` each, where the name holds and of what it is a size.
    Names of one place mean different axes if they are different; those of two places nobody can
    compare. Axes of one name are equally long if they are of the same, which is a number for what
    the program's own example is called with.
    """

    @property
    def name(self) -> str:
        """The name as it was given."""
        return self.partition("#")[0]

    @property
    def scope(self) -> str:
        """Where it holds."""
        return self.split("#")[1]

    @property
    def number(self) -> int | None:
        """How long it is in the program's own example."""
        _, scope, of = self.split("#")
        return int(of) if not scope and of.isdigit() else None


def named(name: str, scope: object = "", of: object = "") -> Size:
    """The size of an axis with a name."""
    return symbol(Named(f"{name}#{scope}#{of}"))


def name_of(dim: Dim) -> str:
    """The name of an axis of this size; empty if it has none."""
    found = _named(dim)
    return "" if found is None else found.name


def name_of_most(dim: Dim) -> str:
    """The name of an axis of which some elements may be left out or added: `n - 1`."""
    if isinstance(dim, Size) and len(dim.terms) == 2 and dim.terms[0][0] == ():
        return name_of(Size(dim.terms[1:]))
    return name_of(dim)


def without_name(dim: Dim) -> Dim:
    """The size of an axis that takes the place of one with a name, and means something else."""
    found = _named(dim)
    return dim if found is None else found.number


def is_declared(dim: Dim) -> bool:
    """Whether an annotation gives the axis its name, or another declaration."""
    found = _named(dim)
    return found is not None and not found.scope.startswith(PASSING)


def _named(dim: Dim) -> Named | None:
    if isinstance(dim, Size) and len(dim.terms) == 1:
        monomial, factor = dim.terms[0]
        if factor == 1 and len(monomial) == 1 and isinstance(monomial[0], Named):
            return monomial[0]
    return None


# Axes with different names that an operation took to be of one size, since they were last asked
# for: such an operation works where the sizes happen to agree.
_MEETINGS: list[tuple[str, str]] = []


def meetings() -> list[tuple[str, str]]:
    """The names of axes that were paired since the last time this was asked."""
    if not _MEETINGS:
        return []
    found = list(dict.fromkeys(_MEETINGS))
    _MEETINGS.clear()
    return found


def meet(a: Dim, b: Dim) -> None:
    """Two sizes are taken to be equal."""
    one, other = _named(a), _named(b)
    if one is None or other is None or one.scope != other.scope or are_twins(one.name, other.name):
        return
    by_the_way = one.scope.startswith(PASSING)
    if not by_the_way or is_batch(one.name) != is_batch(other.name):
        _MEETINGS.append((one.name, other.name))

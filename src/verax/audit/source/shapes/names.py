"""Sizes of axes that someone gave a name, and operations that pair axes with different names."""

from __future__ import annotations

from .polynomial import Dim, Size, symbol


class Named(str):
    """The symbol of an axis with a name: `batch`.

    Its text is the name and, behind a `#`, where the name holds: names of one place mean different
    axes if they are different, those of two places nobody can compare.
    """

    @property
    def name(self) -> str:
        """The name as it was given."""
        return self.partition("#")[0]

    @property
    def scope(self) -> str:
        """Where it holds."""
        return self.partition("#")[2]


def named(name: str, scope: object = "") -> Size:
    """The size of an axis with a name."""
    return symbol(Named(f"{name}#{scope}"))


def name_of(dim: Dim) -> str:
    """The name of an axis of this size; empty if it has none."""
    found = _named(dim)
    return "" if found is None else found.name


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
    if one is not None and other is not None and one.scope == other.scope:
        _MEETINGS.append((one.name, other.name))

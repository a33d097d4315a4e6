"""What an axis is, and how two of them become one.

Axes are identified by meaning, not by size: a slice of time is still time. Two axes that meet are
the same axis from there on. Declared names are never merged: that they meet is a `Clash`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...words import is_batch, is_sequence
from ..program import Step, Value


@dataclass(eq=False, slots=True)
class Axis:
    """A dimension's meaning, in a union-find forest.

    `name` is declared by the user or empty. `factors` are the axes that a reshape merged into this
    one, with their sizes, outermost first. `whole` is the axis that this one is a part of, after a
    reshape split it, and `part` its position there. `unit` says where an axis of size one comes
    from: "expanded" (someone wrote `[:, None]`), "reduced" (kept by a reduction), "indexed" (one
    element of an axis), "" (it was so from the beginning). A `repeated` axis holds the same again
    and again. Turns of a loop are `apart` from axes of these names. Of a `lost` axis nothing is
    known any more, and it merges with nothing.
    """

    name: str = ""
    factors: tuple[tuple[Axis, int], ...] = ()
    whole: Axis | None = None
    part: tuple[int, int] = (0, 0)
    unit: str = ""
    repeated: bool = False
    apart: frozenset[str] = frozenset()
    lost: bool = False
    parent: Axis | None = None
    joined: list[Step] = field(default_factory=list[Step])

    def root(self) -> Axis:
        """The axis that stands for all that are one with this."""
        root = self
        while root.parent is not None:
            root = root.parent
        while self.parent is not None:
            self.parent, self = root, self.parent
        return root

    @property
    def label(self) -> str:
        """Its name, or that of its parts joined by `*`; empty if there is none."""
        root = self.root()
        if root.name:
            return root.name
        parts = [axis.label for axis, _ in root.factors]
        return "*".join(parts) if parts and all(parts) else ""


Axes = tuple[Axis, ...]


def unknown(value: Value) -> Axes:
    """Axes of which nothing is known yet."""
    return tuple(Axis() for _ in value.shape)


def piece(axis: Axis) -> Axis:
    """What a part of an axis is: some of the steps are steps, some of the features are others.

    `mean, log_std = jnp.split(out, 2)` has two axes of actions where there was one of outputs.
    """
    label = axis.label
    is_kept = not label or is_sequence(label) or is_batch(label)
    return axis if is_kept else Axis()


@dataclass(frozen=True, eq=False)
class Dimension:
    """A dimension of a value."""

    value: Value
    index: int


@dataclass(frozen=True, eq=False)
class Clash:
    """Two axes with different declared names meet.

    `where` says how: "elementwise", "contraction", "concatenation", "carry", "mapped", "scanned",
    "branch", "declared", "update", "indexed".
    """

    step: Step | None
    where: str
    first: Dimension
    second: Dimension
    first_name: str
    second_name: str


@dataclass
class Meeting:
    """Merges axes, and remembers where declared names met."""

    clashes: list[Clash] = field(default_factory=list[Clash])

    def join(
        self, step: Step | None, where: str, first: Dimension, a: Axis, second: Dimension, b: Axis
    ) -> Axis:
        """Make two axes one; returns it. A clash gives an axis of which nothing is known."""
        a, b = a.root(), b.root()
        if a is b or b.lost:
            return a
        if a.lost:
            return b
        if _conflict(a, b):
            self.clashes.append(Clash(step, where, first, second, _described(a), _described(b)))
            return Axis(lost=True)
        if not _compatible(a, b):
            return a
        winner, loser = (a, b) if _weight(a) >= _weight(b) else (b, a)
        loser.parent = winner
        winner.apart |= loser.apart
        winner.joined.extend(loser.joined[:4])
        if step is not None and len(winner.joined) < 8:
            winner.joined.append(step)
        for (x, _), (y, _) in zip(winner.factors, loser.factors, strict=False):
            self.join(step, where, first, x, second, y)
        return winner


def _conflict(a: Axis, b: Axis) -> bool:
    if a.name and b.name:
        return a.name != b.name
    if (a.name and a.name in b.apart) or (b.name and b.name in a.apart):
        return True
    if a.factors and b.factors:
        if _change_places(a, b):
            return True
        sizes = [n for _, n in a.factors], [n for _, n in b.factors]
        named = a.label and b.label
        return bool(named) and (a.label != b.label or sizes[0] != sizes[1])
    return False


def _change_places(a: Axis, b: Axis) -> bool:
    """Whether an axis is a factor of two products in different places: `agent*env`, `env*agent`.

    Where both repeat something, all pairs are meant.
    """
    first, second = ([it.root() for it, _ in axis.factors] for axis in (a, b))
    if all(any(it.repeated for it in factors) for factors in (first, second)):
        return False
    shared = [it for it in first if first.count(it) == second.count(it) == 1]
    return any(first.index(it) != second.index(it) for it in shared) and len(first) == len(second)


def _described(axis: Axis) -> str:
    """A name for an axis, also if it has none."""
    parts = [it.label or "other" for it, _ in axis.factors]
    return axis.label or "*".join(parts) or ("turns" if axis.apart else "")


def _compatible(a: Axis, b: Axis) -> bool:
    """Whether merging loses nothing: a declared axis is not also a product of others.

    Half of an axis is taken for the axis, and may be one of two that make a whole again.
    """
    if _holds(a, b) or _holds(b, a):
        return False
    if a.factors and b.factors:
        return [n for _, n in a.factors] == [n for _, n in b.factors]
    return not ((a.name and b.factors) or (b.name and a.factors))


def _holds(axis: Axis, part: Axis) -> bool:
    """Whether an axis is a product of which another one is a factor."""
    factors = [it.root() for it, _ in axis.factors]
    return any(it is part or _holds(it, part) for it in factors)


def _weight(axis: Axis) -> int:
    return 2 * bool(axis.name) + bool(axis.factors)

"""Lenses made of two others: one after the other, and side by side."""

from __future__ import annotations

from typing import Generic, TypeVar

import jax

from ._lens import A, B, Lens, S
from ._post_init import no_post_init

M = TypeVar("M")


class NestedLens(Lens[S, B], Generic[S, M, B]):
    """Looks through `outer`, then through `inner`; `Lens.nest` makes it.

    Example:
        >>> from verax.state import lens
        >>> first, second = lens(lambda s: s[0]), lens(lambda s: s[1])
        >>> NestedLens(first, second).set(((1, 2), 3), 9)
        ((1, 9), 3)
    """

    __slots__ = ("inner", "outer")

    def __init__(self, outer: Lens[S, M], inner: Lens[M, B]) -> None:
        self.outer: Lens[S, M] = outer
        self.inner: Lens[M, B] = inner

    def get(self, state: S) -> B:
        """What `inner` sees in what `outer` sees."""
        return self.inner.get(self.outer.get(state))

    def set(self, state: S, value: B) -> S:
        """A new state in which that is `value`."""
        return self.outer.set(state, self.inner.set(self.outer.get(state), value))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NestedLens):
            return NotImplemented
        return bool(self.outer == other.outer and self.inner == other.inner)

    def __hash__(self) -> int:
        return hash((NestedLens, self.outer, self.inner))

    def __repr__(self) -> str:
        return f"{self.outer!r}.nest({self.inner!r})"


class MergedLens(Lens[S, tuple[A, B]]):
    """Looks through two lenses at once; `Lens.merge` makes it.

    The first is written, then the second. Where both reach the same place, the second wins, and
    what was set through the first is not read back.

    Example:
        >>> from verax.state import lens
        >>> first, second = lens(lambda s: s[0]), lens(lambda s: s[1])
        >>> MergedLens(first, second).set((1, 2, 3), (8, 9))
        (8, 9, 3)
    """

    __slots__ = ("first", "second")

    def __init__(self, first: Lens[S, A], second: Lens[S, B]) -> None:
        self.first: Lens[S, A] = first
        self.second: Lens[S, B] = second

    def get(self, state: S) -> tuple[A, B]:
        """What both see, as a pair."""
        return self.first.get(state), self.second.get(state)

    def set(self, state: S, value: tuple[A, B]) -> S:
        """A new state in which the pair is `value`."""
        first, second = value
        with no_post_init():  # half of the change may be a state that no finished one should be
            halfway = self.first.set(state, first)
        return self.second.set(halfway, second)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MergedLens):
            return NotImplemented
        return bool(self.first == other.first and self.second == other.second)

    def __hash__(self) -> int:
        return hash((MergedLens, self.first, self.second))

    def __repr__(self) -> str:
        return f"{self.first!r}.merge({self.second!r})"


# Their parts may hold arrays, in an index for instance; so they are nodes with children.
jax.tree_util.register_pytree_node(
    NestedLens, lambda lens: ((lens.outer, lens.inner), None), lambda _, parts: NestedLens(*parts)
)
jax.tree_util.register_pytree_node(
    MergedLens, lambda lens: ((lens.first, lens.second), None), lambda _, parts: MergedLens(*parts)
)

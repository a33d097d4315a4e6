"""What a lens is: a pair of functions that read and write one part of a state.

The state is never changed. `set` gives a new one, in which only the part differs. Three laws make
a lens predictable; all lenses here keep them, except where their documentation says otherwise:

- setting what was read changes nothing: `set(s, get(s))` equals `s`;
- what was set is read back: `get(set(s, v))` equals `v`;
- the last one to set wins: `set(set(s, v), w)` equals `set(s, w)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from ._bound_lens import BoundLens
    from ._scatter import ScatterArgs

S = TypeVar("S")
A = TypeVar("A")
B = TypeVar("B")

# The methods that compose make lenses of other kinds, and those inherit from this class. Hence
# the imports inside the methods.


class Lens(ABC, Generic[S, A]):
    """Reads (`get`) and writes (`set`) a part of type `A` in a state of type `S`.

    Make one with `lens`. A subclass of your own needs `get` and `set`; the rest follows.

    Example:
        >>> class Celsius(Lens[float, float]):
        ...     def get(self, state):
        ...         return state - 273.15
        ...     def set(self, state, value):
        ...         return value + 273.15
        >>> Celsius().apply(273.15, lambda t: t + 100)
        373.15
    """

    @abstractmethod
    def get(self, state: S) -> A:
        """The part of the state that the lens looks at."""

    @abstractmethod
    def set(self, state: S, value: A) -> S:
        """A new state in which that part is `value`."""

    def __call__(self, state: S) -> A:
        """The same as `get`, so that a lens can go wherever a getter can."""
        return self.get(state)

    def apply(self, state: S, update: Callable[[A], A]) -> S:
        """A new state in which that part is what `update` makes of it."""
        return self.set(state, update(self.get(state)))

    def bind(self, state: S) -> BoundLens[S, A]:
        """The lens together with a state, so that neither has to be named again."""
        from ._bound_lens import BoundLens

        return BoundLens(state, self)

    def nest(self, inner: Lens[A, B]) -> Lens[S, B]:
        """The lens that looks through this one and then through `inner`."""
        from ._composed_lenses import NestedLens

        return NestedLens(self, inner)

    def focus(self, where: Callable[[A], B]) -> Lens[S, B]:
        """The lens that goes on from here to where the getter (or lens) `where` points."""
        from ._path_lens import PathLens

        return self.nest(where if isinstance(where, Lens) else PathLens(where))

    def at(
        self, index: Any, args: ScatterArgs | None = None, **options: Unpack[ScatterArgs]
    ) -> Lens[S, A]:
        """The lens that goes on to the entries at `index` of every array in that part.

        Args:
            index: whatever may stand in the brackets of `array.at[...]`: integers, slices,
                integer arrays, boolean masks, an ellipsis, or a tuple of them.
            args: options for reading and writing, such as `{"mode": "drop"}`.
            **options: the same, written out: `mode="drop"`.
        """
        from ._index_lens import IndexLens

        return self.nest(IndexLens[A](index, {**(args or {}), **options}))

    def merge(self, other: Lens[S, B]) -> Lens[S, tuple[A, B]]:
        """The lens that looks at this part and at `other`, as a pair."""
        from ._composed_lenses import MergedLens

        return MergedLens(self, other)

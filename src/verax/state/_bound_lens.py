"""A lens that already has its state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, overload

import jax

from ._lens import A, B, Lens, S
from ._special_lenses import IdentityLens

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Unpack

    from ._scatter import ScatterArgs


class BoundLens(Generic[S, A]):
    """A state and a lens into it; `bind` makes it.

    Every method is the lens's own, without the state in its arguments.

    Example:
        >>> from verax.state import bind
        >>> state = {"pos": (1.0, 2.0), "step": 0}
        >>> bind(state).focus(lambda s: s["pos"]).focus(lambda p: p[1]).set(5.0)
        {'pos': (1.0, 5.0), 'step': 0}
    """

    __slots__ = ("lens", "state")

    def __init__(self, state: S, lens: Lens[S, A]) -> None:
        self.state: S = state
        self.lens: Lens[S, A] = lens

    def get(self) -> A:
        """The part of the state that the lens looks at."""
        return self.lens.get(self.state)

    def set(self, value: A) -> S:
        """A new state in which that part is `value`."""
        return self.lens.set(self.state, value)

    def apply(self, update: Callable[[A], A]) -> S:
        """A new state in which that part is what `update` makes of it."""
        return self.lens.apply(self.state, update)

    def nest(self, inner: Lens[A, B]) -> BoundLens[S, B]:
        """The same state, seen through this lens and then through `inner`."""
        return BoundLens(self.state, self.lens.nest(inner))

    def focus(self, where: Callable[[A], B]) -> BoundLens[S, B]:
        """The same state, seen where the getter (or lens) `where` points from here."""
        return BoundLens(self.state, self.lens.focus(where))

    def at(
        self, index: Any, args: ScatterArgs | None = None, **options: Unpack[ScatterArgs]
    ) -> BoundLens[S, A]:
        """The same state, seen at the entries `index` of every array in that part."""
        return BoundLens(self.state, self.lens.at(index, args, **options))

    def merge(self, other: Lens[S, B]) -> BoundLens[S, tuple[A, B]]:
        """The same state, seen through this lens and `other` at once."""
        return BoundLens(self.state, self.lens.merge(other))

    def __repr__(self) -> str:
        return f"bind({self.state!r}, {self.lens!r})"


jax.tree_util.register_pytree_node(
    BoundLens, lambda bound: ((bound.state, bound.lens), None), lambda _, parts: BoundLens(*parts)
)


@overload
def bind(state: S) -> BoundLens[S, S]: ...
@overload
def bind(state: S, where: Callable[[S], A]) -> BoundLens[S, A]: ...
def bind(state: Any, where: Callable[[Any], Any] | None = None) -> BoundLens[Any, Any]:
    """Begin with a state and go on with `focus`, `at`, and at last `get`, `set` or `apply`.

    Args:
        state: the state to look into.
        where: a lens or a getter to begin with; without it, the whole state.

    Example:
        >>> import jax.numpy as jnp
        >>> state = {"x": jnp.zeros(3)}
        >>> bind(state, lambda s: s["x"]).at(1).set(7.0)
        {'x': Array([0., 7., 0.], dtype=float32)}
    """
    whole = BoundLens(state, IdentityLens[Any]())
    return whole if where is None else whole.focus(where)

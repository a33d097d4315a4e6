"""The lens that `lens` makes: its setter follows from its getter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import jax

from ._functions import function_hash, function_name, same_function
from ._lens import A, B, Lens, S
from ._paths import PathError, record, write

if TYPE_CHECKING:
    from collections.abc import Callable


class PathLens(Lens[S, A]):
    """A lens made from getters that are applied in turn; see `lens`.

    Example:
        >>> PathLens(lambda s: s["a"], lambda a: a[0]).set({"a": (1, 2)}, 5)
        {'a': (5, 2)}
    """

    __slots__ = ("_getters",)

    def __init__(self, *getters: Callable[[Any], Any]) -> None:
        self._getters = getters

    def get(self, state: S) -> A:
        """What the getter returns."""
        value: Any = state
        for getter in self._getters:
            value = getter(value)
        return value

    def set(self, state: S, value: A) -> S:
        """A new state with `value` at the place that the getter points at.

        Raises:
            ValueError: if the getter computes instead of pointing, if it points at overlapping
                places, or if `value` is arranged otherwise than what the getter returns.
        """
        try:
            return write(record(self.get, state), value)
        except PathError as error:
            raise ValueError(f"{self!r} cannot set: {error}") from error.__cause__

    def nest(self, inner: Lens[A, B]) -> Lens[S, B]:
        """The lens that looks through this one and then through `inner`."""
        if isinstance(inner, PathLens):  # one recording for the whole way instead of two
            return PathLens(*self._getters, *inner._getters)
        return super().nest(inner)

    def merge(self, other: Lens[S, B]) -> Lens[S, tuple[A, B]]:
        """The lens that looks at this part and at `other`, as a pair that is written at once."""
        if isinstance(other, PathLens):
            return PathLens(lambda state: (self.get(state), other.get(state)))
        return super().merge(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PathLens):
            return NotImplemented
        mine, theirs = self._getters, cast("PathLens[Any, Any]", other)._getters
        return len(mine) == len(theirs) and all(map(same_function, mine, theirs))

    def __hash__(self) -> int:
        return hash(tuple(map(function_hash, self._getters)))

    def __repr__(self) -> str:
        return f"lens({', '.join(map(function_name, self._getters))})"


# A lens in a state is part of the program, not of the data.
jax.tree_util.register_static(PathLens)


def lens(getter: Callable[[S], A], *, cls: type[S] | None = None) -> Lens[S, A]:
    """A lens on what `getter` points at; the setter is found by watching the getter.

    The getter may follow attributes, items, slices, properties and methods, loop over containers,
    and return several places in a tuple, list or dict. The places may be in dataclasses, named
    tuples, dicts and other mappings, lists, tuples, registered pytrees, and arrays; all keep
    their types. Static fields can be set like others.

    A getter that computes can be read with `get`; `set` raises a ValueError.

    Args:
        getter: takes the state and returns a part of it.
        cls: the class of the state. It tells a type checker what a lambda's argument is.

    Example:
        >>> from verax.state import dataclass, field
        >>> @dataclass
        ... class Buffers:
        ...     edges: int = field(static=True)
        ...     cells: int = field(static=True)
        >>> @dataclass
        ... class State:
        ...     time: float
        ...     buffers: Buffers
        >>> edges = lens(lambda s: s.buffers.edges, cls=State)
        >>> state = State(0.0, Buffers(edges=10, cells=4))
        >>> edges.get(state)
        10
        >>> edges.set(state, 16)
        State(time=0.0, buffers=Buffers(edges=16, cells=4))
        >>> both = lens(lambda s: {"t": s.time, "c": s.buffers.cells}, cls=State)
        >>> both.set(state, {"t": 1.5, "c": 8})
        State(time=1.5, buffers=Buffers(edges=10, cells=8))
    """
    del cls
    return PathLens(getter)

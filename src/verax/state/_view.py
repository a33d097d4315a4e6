"""The reading half of a lens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import jax

from ._functions import function_hash, function_name, same_function
from ._lens import B

if TYPE_CHECKING:
    from collections.abc import Callable

S_contra = TypeVar("S_contra", contravariant=True)
A_co = TypeVar("A_co", covariant=True)
S = TypeVar("S")
A = TypeVar("A")


class View(Generic[S_contra, A_co]):
    """Getters that are applied in turn; `view` makes it.

    Example:
        >>> View(lambda s: s["a"], lambda a: a + 1).get({"a": 1})
        2
    """

    __slots__ = ("_getters",)

    def __init__(self, *getters: Callable[[Any], Any]) -> None:
        self._getters = getters

    def get(self, state: S_contra) -> A_co:
        """What the getters make of the state."""
        value: Any = state
        for getter in self._getters:
            value = getter(value)
        return value

    def __call__(self, state: S_contra) -> A_co:
        """The same as `get`."""
        return self.get(state)

    def focus(self, where: Callable[[A_co], B]) -> View[S_contra, B]:
        """The view that goes on from here with `where`."""
        return View(*self._getters, where)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, View):
            return NotImplemented
        mine, theirs = self._getters, cast("View[Any, Any]", other)._getters
        return len(mine) == len(theirs) and all(map(same_function, mine, theirs))

    def __hash__(self) -> int:
        return hash(tuple(map(function_hash, self._getters)))

    def __repr__(self) -> str:
        return f"view({', '.join(map(function_name, self._getters))})"


jax.tree_util.register_static(View)


def view(getter: Callable[[S], A], *, cls: type[S] | None = None) -> View[S, A]:
    """What `getter` makes of a state, to be read only; unlike for `lens`, it may compute.

    Args:
        getter: takes the state and returns anything.
        cls: the class of the state. It tells a type checker what a lambda's argument is.

    Example:
        >>> count = view(lambda s: len(s["items"]), cls=dict)
        >>> count({"items": [1, 2, 3]})
        3
    """
    del cls
    return View(getter)

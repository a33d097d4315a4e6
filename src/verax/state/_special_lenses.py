"""Lenses that are not found by following a getter: by hand, of everything, of nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic

import jax

from ._functions import function_hash, function_name, same_function
from ._lens import A, B, Lens, S

if TYPE_CHECKING:
    from collections.abc import Callable


class LambdaLens(Lens[S, A]):
    """A lens from a getter and a setter that are both given.

    For what no getter can point at: a part that is computed, a container that needs care. That
    the two keep the laws of a lens is up to who writes them.

    Example:
        >>> percent = LambdaLens(lambda s: 100 * s["share"], lambda s, v: {**s, "share": v / 100})
        >>> percent.set({"share": 0.5, "name": "a"}, 25)
        {'share': 0.25, 'name': 'a'}
    """

    __slots__ = ("_get", "_set")

    def __init__(self, get: Callable[[S], A], set: Callable[[S, A], S]) -> None:
        self._get = get
        self._set = set

    def get(self, state: S) -> A:
        """What the given getter returns."""
        return self._get(state)

    def set(self, state: S, value: A) -> S:
        """What the given setter returns."""
        return self._set(state, value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LambdaLens):
            return NotImplemented
        return same_function(self._get, other._get) and same_function(self._set, other._set)

    def __hash__(self) -> int:
        return hash((function_hash(self._get), function_hash(self._set)))

    def __repr__(self) -> str:
        return f"LambdaLens({function_name(self._get)}, {function_name(self._set)})"


class IdentityLens(Lens[S, S]):
    """Looks at the whole state.

    Example:
        >>> IdentityLens().set({"a": 1}, {"b": 2})
        {'b': 2}
    """

    __slots__ = ()

    def get(self, state: S) -> S:
        """The state."""
        return state

    def set(self, state: S, value: S) -> S:
        """The value, which is the new state."""
        return value

    def nest(self, inner: Lens[S, B]) -> Lens[S, B]:
        """`inner`: there is nothing to look through first."""
        return inner

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityLens)

    def __hash__(self) -> int:
        return hash(IdentityLens)

    def __repr__(self) -> str:
        return "IdentityLens()"


class ConstantLens(Lens[S, A], Generic[S, A]):
    """Gives one value for every state, and leaves every state as it is.

    It stands in where a lens is asked for and nothing is to be written. By intention it breaks
    one law: what is set is not read back.

    Example:
        >>> ConstantLens(64).get({"a": 1})
        64
        >>> ConstantLens(64).set({"a": 1}, 128)
        {'a': 1}
    """

    __slots__ = ("value",)

    def __init__(self, value: A) -> None:
        self.value: A = value

    def get(self, state: S) -> A:
        """The constant."""
        return self.value

    def set(self, state: S, value: A) -> S:
        """The state as it was."""
        return state

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantLens) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash((ConstantLens, self.value))

    def __repr__(self) -> str:
        return f"ConstantLens({self.value!r})"


jax.tree_util.register_static(LambdaLens)
jax.tree_util.register_static(IdentityLens)


def _with_value(_: None, values: Any) -> ConstantLens[Any, Any]:
    return ConstantLens(*values)


jax.tree_util.register_pytree_node(ConstantLens, lambda lens: ((lens.value,), None), _with_value)

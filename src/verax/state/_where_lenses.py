"""Lenses on all parts of a tree that satisfy a condition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, overload

import jax

from ._functions import function_hash, function_name, same_function
from ._lens import Lens, S

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeGuard

T = TypeVar("T")


class WhereLens(Lens[S, tuple[T, ...]]):
    """Looks at all parts of a tree for which `condition` holds; `all_where_lens` makes it.

    Example:
        >>> WhereLens(lambda part: isinstance(part, str)).get({"a": "x", "b": 1})
        ('x',)
    """

    __slots__ = ("_condition",)

    def __init__(self, condition: Callable[[Any], bool]) -> None:
        self._condition = condition

    def get(self, state: S) -> tuple[T, ...]:
        """The parts, in the order of the tree."""
        parts = jax.tree.leaves(state, is_leaf=self._condition)
        return tuple(part for part in parts if self._condition(part))

    def set(self, state: S, value: tuple[T, ...]) -> S:
        """A new tree with those parts exchanged, in the same order.

        Raises:
            ValueError: if there are more or fewer new parts than old ones.
        """
        parts, structure = jax.tree.flatten(state, is_leaf=self._condition)
        chosen = [index for index, part in enumerate(parts) if self._condition(part)]
        if len(chosen) != len(value):
            raise ValueError(
                f"{self!r} cannot set: it finds {len(chosen)} parts in the "
                f"{type(state).__name__} and was given {len(value)}. Give one for each."
            )
        for index, new in zip(chosen, value, strict=True):
            parts[index] = new
        return jax.tree.unflatten(structure, parts)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WhereLens):
            return NotImplemented
        return same_function(self._condition, other._condition)

    def __hash__(self) -> int:
        return function_hash(self._condition)

    def __repr__(self) -> str:
        return f"all_where_lens({function_name(self._condition)})"


jax.tree_util.register_static(WhereLens)


@overload
def all_where_lens(condition: Callable[[Any], TypeGuard[T]]) -> Lens[Any, tuple[T, ...]]: ...
@overload
def all_where_lens(condition: Callable[[Any], bool]) -> Lens[Any, tuple[Any, ...]]: ...
def all_where_lens(condition: Callable[[Any], Any]) -> Lens[Any, tuple[Any, ...]]:
    """A lens on all parts of a tree for which `condition` holds, as a tuple.

    Parts are leaves and nodes of the pytree, from the root down; inside a part that is found,
    nothing more is looked for. Static fields are not parts. The parts that `set` puts in must
    satisfy the condition as well, or they are not found again.

    Example:
        >>> small = all_where_lens(lambda part: isinstance(part, int) and part < 10)
        >>> small.apply({"a": 1, "b": [2, 30]}, lambda found: tuple(-n for n in found))
        {'a': -1, 'b': [-2, 30]}
    """
    return WhereLens(condition)


def all_isinstance_lens(cls: type[T]) -> Lens[Any, tuple[T, ...]]:
    """A lens on all parts of a tree that are instances of `cls`, as a tuple.

    Example:
        >>> from verax.state import dataclass
        >>> @dataclass
        ... class Layer:
        ...     weight: float
        >>> layers = all_isinstance_lens(Layer)
        >>> layers.get([Layer(1.0), {"x": Layer(2.0)}, 3.0])
        (Layer(weight=1.0), Layer(weight=2.0))
    """
    return WhereLens(lambda part: isinstance(part, cls))

"""The structure of a tree, with the type of the tree it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import jax

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class PyTreeDef(Protocol[T_co]):
    """What is left of a tree of type `T_co` when its leaves are taken out.

    It is what `jax.tree.structure` gives, for a type checker: `unflatten` is known to give the
    type that went in.

    Example:
        >>> structure: PyTreeDef[dict[str, int]] = tree_structure({"a": 1, "b": 2})
        >>> structure.unflatten([3, 4])
        {'a': 3, 'b': 4}
    """

    @property
    def num_leaves(self) -> int:
        """How many leaves there are."""
        ...

    @property
    def num_nodes(self) -> int:
        """How many nodes there are, leaves included."""
        ...

    def unflatten(self, leaves: Iterable[Any], /) -> T_co:
        """A tree of this structure with other leaves."""
        ...

    def flatten_up_to(self, tree: Any, /) -> list[Any]:
        """What stands in `tree` at the places of this structure's leaves."""
        ...

    def children(self) -> list[PyTreeDef[Any]]:
        """The structures one level down."""
        ...


def tree_structure(x: T, is_leaf: Callable[[Any], bool] | None = None) -> PyTreeDef[T]:
    """`jax.tree.structure`, with the type of the tree kept.

    Example:
        >>> tree_structure((1, [2, 3]), is_leaf=lambda node: isinstance(node, list)).num_leaves
        2

    Args:
        x: the tree to look at.
        is_leaf: what counts as a leaf besides what always does.
    """
    return cast("PyTreeDef[T]", jax.tree.structure(x, is_leaf=is_leaf))

"""Mapping over trees whose nodes align themselves first.

Two trees may say the same in different vocabularies: an index into a list of labels means nothing
next to an index into another list. A node that knows how brings its counterparts and itself to a
common vocabulary before a function sees their leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

import jax

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


@runtime_checkable
class SupportsTreeMatch(Protocol):
    """A node of a tree that `tree_map` asks to align itself with its counterparts.

    Example:
        >>> from verax.state import dataclass, field
        >>> @dataclass
        ... class Coded:
        ...     codes: list
        ...     words: tuple = field(static=True)
        ...     def __tree_match__(self, *others):
        ...         every = (self, *others)
        ...         words = tuple(sorted({word for one in every for word in one.words}))
        ...         return tuple(
        ...             Coded([words.index(one.words[code]) for code in one.codes], words)
        ...             for one in every
        ...         )
        >>> one, other = Coded([0, 1], ("b", "c")), Coded([1, 0], ("b", "a"))
        >>> tree_map(lambda a, b: (a, b), one, other)
        Coded(codes=[(1, 0), (2, 1)], words=('a', 'b', 'c'))
    """

    def __tree_match__(self, *others: Any) -> tuple[Any, ...]:
        """Itself and its counterparts in the other trees, aligned, in this order."""
        ...


def tree_map(
    fn: Callable[..., Any],
    tree: T,
    *trees: Any,
    is_leaf: Callable[[Any], bool] | None = None,
) -> T:
    """`jax.tree.map`, with nodes that align themselves before `fn` sees their leaves.

    A node with `__tree_match__` (see `SupportsTreeMatch`) is called with its counterparts, if
    there are any, and what it returns takes their place. If it is a pytree, `fn` then maps over
    its children, where further nodes may align themselves; if it is a leaf, also by `is_leaf`,
    `fn` is given the aligned nodes.

    Example:
        >>> tree_map(lambda a, b: a + b, {"x": 1, "y": (2, 3)}, {"x": 10, "y": (20, 30)})
        {'x': 11, 'y': (22, 33)}

    Args:
        fn: takes one leaf of each tree.
        tree: its structure, after alignment, is that of the result.
        *trees: further trees of the same structure.
        is_leaf: what counts as a leaf besides what always does.
    """

    def stop(node: Any) -> bool:
        return hasattr(node, "__tree_match__") or (is_leaf is not None and is_leaf(node))

    def visit(node: Any, *others: Any) -> Any:
        if not hasattr(node, "__tree_match__"):
            return fn(node, *others)
        first, *rest = node.__tree_match__(*others) if others else (node,)
        children, structure = jax.tree.flatten(first, is_leaf=lambda part: part is not first)
        if (is_leaf is not None and is_leaf(node)) or _is_one_leaf(children, first):
            return fn(first, *rest)
        columns = zip(children, *map(structure.flatten_up_to, rest), strict=True)
        return structure.unflatten([tree_map(fn, *column, is_leaf=is_leaf) for column in columns])

    return jax.tree.map(visit, tree, *trees, is_leaf=stop)


def _is_one_leaf(children: list[Any], node: Any) -> bool:
    return len(children) == 1 and children[0] is node

"""How a tree is taken apart: its leaves, their keys, and what in it holds arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from .observations import MappedToTuples, StoppedAbove


def tree_functions() -> dict[str, Callable[..., Any]]:
    """JAX's functions that take the tree first (or, to map, second), by name."""
    found: dict[str, Callable[..., Any]] = {}
    for name in ("leaves", "flatten", "map", "reduce", "leaves_with_path", "flatten_with_path"):
        found[f"jax.tree.{name}"] = getattr(jax.tree, name)
        found[f"jax.tree_util.tree_{name}"] = getattr(jax.tree_util, f"tree_{name}")
    for skipped in ("jax.tree.reduce", "jax.tree_util.tree_reduce"):
        del found[skipped]  # Takes the tree second.
    return found


def last_keys(tree: Any) -> tuple[str, ...]:
    """The last key on the way to each leaf."""
    return tuple(
        _key(path[-1]) if path else "" for path, _ in jax.tree_util.tree_leaves_with_path(tree)
    )


def _key(entry: Any) -> str:
    """The name of a dict's item or an attribute; empty for positions."""
    name = getattr(entry, "key", getattr(entry, "name", None))
    return name if isinstance(name, str) else ""


def mapped_to_tuples(tree: Any, result: Any) -> MappedToTuples | None:
    """Whether every leaf became a tuple of one length."""
    structure = jax.tree.structure(tree)
    if jax.tree_util.treedef_is_leaf(structure):
        return None  # Of one leaf, what the function returned is the whole result.
    try:
        made = structure.flatten_up_to(result)
    except (ValueError, TypeError):
        return None
    lengths = {len(it) if type(it) is tuple else 0 for it in made}
    if len(lengths) != 1 or not made or 0 in lengths:
        return None
    children = structure.children()
    return MappedToTuples(lengths.pop(), type(tree).__name__, len(children))


def containers_made(tree: Any, result: Any) -> list[Any]:
    """What a map has put in the place of each leaf, where that is a tree of its own."""
    try:
        made = jax.tree.structure(tree).flatten_up_to(result)
    except (ValueError, TypeError):
        return []
    return [it for it in made if not jax.tree_util.all_leaves([it])]


def stopped_above(
    tree: Any, is_leaf: Callable[[Any], bool], made: dict[int, Any]
) -> StoppedAbove | None:
    """Whether a tree is taken apart only down to what is above the containers that a map made.

    `made` are these, by identity. An `is_leaf` that does not hold for them is about something else.
    """
    for leaf in jax.tree.leaves(tree, is_leaf=is_leaf):
        if id(leaf) in made or jax.tree_util.all_leaves([leaf]):
            continue
        for part in jax.tree.leaves(leaf, is_leaf=lambda it: id(it) in made):
            if id(part) in made and is_leaf(part):
                return StoppedAbove(type(part).__name__, type(leaf).__name__)
    return None


def is_array(value: Any) -> bool:
    """Whether a value is an array that holds numbers, or stands for one."""
    return isinstance(value, (jax.Array, np.ndarray))


def array_fields(leaf: Any) -> tuple[str, ...]:
    """Attributes of an object that hold arrays, also inside of containers."""
    if is_array(leaf) or isinstance(leaf, type) or hasattr(leaf, "__jax_array__") or callable(leaf):
        return ()
    return tuple(
        name
        for name, value in attributes(leaf).items()
        if any(is_array(it) for it in jax.tree.leaves(value))
    )


def attributes(instance: Any) -> dict[str, Any]:
    """The attributes of an object, also of a dataclass with slots."""
    try:
        return dict(vars(instance))
    except TypeError:
        is_instance = dataclasses.is_dataclass(instance) and not isinstance(instance, type)
        names = [it.name for it in dataclasses.fields(instance)] if is_instance else []
        return {name: getattr(instance, name, None) for name in names}

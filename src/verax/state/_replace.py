"""New containers from old ones, with some children exchanged and everything else kept.

Each function takes a container and `(key, child)` pairs and returns a container of the same type.
All pairs are exchanged at once, so that a class that checks itself sees finished objects only.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterable
from types import MappingProxyType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ._statics import check_statics, static_names

Changes = Iterable[tuple[Any, Any]]
Replace = Callable[[Any, Changes], Any]


class _Plan(NamedTuple):
    """How to rebuild a dataclass; worked out once a class."""

    names: tuple[str, ...]
    static: tuple[str, ...]
    through_init: bool
    computed: frozenset[str]


@functools.cache
def _plan(cls: type) -> _Plan:
    fields = dataclasses.fields(cls)
    taken = {one.name for one in fields if one.init}
    # A class that checks or completes itself must do so for the new values too. A constructor with
    # a signature of its own could not be called with fields, so such a class is copied instead.
    through_init = hasattr(cls, "__post_init__") and taken <= set(inspect.signature(cls).parameters)
    return _Plan(
        names=tuple(one.name for one in fields),
        static=static_names(cls),
        through_init=through_init,
        computed=frozenset(one.name for one in fields if not one.init and through_init),
    )


def replace_fields(instance: Any, changes: Changes) -> Any:
    """A dataclass with some fields exchanged, as `dataclasses.replace` would do it."""
    cls = type(instance)
    plan = _plan(cls)
    new = dict(changes)
    if plan.through_init:
        for name in plan.computed & new.keys():
            raise ValueError(
                f"{cls.__qualname__}.{name} is made by __post_init__ (init=False) and cannot be "
                f"set. Set the fields that it is made from."
            )
        return dataclasses.replace(instance, **new)
    made = object.__new__(cls)
    write = object.__setattr__
    for name in plan.names:
        write(made, name, new[name] if name in new else getattr(instance, name))
    if plan.static:
        check_statics(made, plan.static)
    return made


def replace_items_of_sequence(sequence: Any, changes: Changes) -> Any:
    """A list, tuple or named tuple with some items exchanged."""
    items = list(sequence)
    for index, item in changes:
        items[index] = item
    cls: Any = type(sequence)
    if cls is list:
        return items
    return cls._make(items) if hasattr(cls, "_make") else cls(items)


def replace_items_of_mapping(mapping: Any, changes: Changes) -> Any:
    """A mapping with some values exchanged; order, type and default factory are kept."""
    if type(mapping) is dict:
        return {**mapping, **dict(changes)}
    if isinstance(mapping, MappingProxyType):
        return MappingProxyType(replace_items_of_mapping(mapping.copy(), changes))
    if isinstance(mapping, dict):
        made = copy.copy(mapping)
        for key, value in changes:  # update() is not assignment for every dict: a Counter adds
            made[key] = value
        return made
    cls: Any = type(mapping)
    try:
        return cls({**mapping, **dict(changes)})
    except TypeError as error:
        raise ValueError(
            f"cannot make a new {cls.__qualname__}: it does not accept a dict. "
            f"Write the setter by hand with LambdaLens(get, set)."
        ) from error


def replace_entries_of_array(array: Any, changes: Changes) -> Any:
    """An array with some entries exchanged; a key is a chain of indices, applied in turn.

    The chain `(i, j)` stands for `array[i][j]`. Of entries that overlap, the last one stays.
    """
    for (index, *rest), entries in changes:
        if rest:
            entries = replace_entries_of_array(array[index], [(rest, entries)])
        if isinstance(array, np.ndarray) and not isinstance(entries, jax.Array):
            array = array.copy()
            array[index] = entries
        else:
            array = jnp.asarray(array).at[index].set(entries)
    return array


def replace_attributes(instance: Any, changes: Changes) -> Any:
    """Any other object with some attributes exchanged.

    A registered pytree is rebuilt by its own rule where that reaches the attributes: it leaves
    nothing stale behind, such as a cached property. Otherwise they are set on a copy.
    """
    changes = list(changes)
    children, structure = jax.tree.flatten(instance, is_leaf=lambda node: node is not instance)
    new_children = list(children)
    for name, new in changes:
        same = [index for index, child in enumerate(children) if child is getattr(instance, name)]
        if len(same) == 1:
            new_children[same[0]] = new
    made = jax.tree.unflatten(structure, new_children)
    # A child may be the attribute's value without being the attribute: small integers are shared.
    if any(getattr(made, name) is not new for name, new in changes):
        made = copy.copy(instance)
        for name, new in changes:
            object.__setattr__(made, name, new)
    return made

"""What changes when an instance of a registered class is flattened and put together again."""

from __future__ import annotations

from typing import Any

import jax

from .trees import attributes, is_array


def round_trip_problem(instance: Any) -> str:
    """What changes when an instance is flattened and put together again; empty if unknown."""
    try:
        children, structure = jax.tree.flatten(instance, is_leaf=lambda it: it is not instance)
        restored = jax.tree.unflatten(structure, children)
        again = jax.tree.leaves(restored, is_leaf=lambda it: it is not restored)
    except Exception:
        return ""  # It cannot be done on these leaves, which is another matter.
    if type(restored) is not type(instance):
        return f"it comes back as {type(restored).__name__}"
    if len(again) != len(children):
        return f"it has {len(children)} children, and {len(again)} after it was put together again"
    return (
        _permuted(instance, children, again)
        or _lost(instance, restored)
        or _static_array(instance, structure)
    )


def _permuted(instance: Any, children: list[Any], again: list[Any]) -> str:
    before, after = [id(it) for it in children], [id(it) for it in again]
    if before == after or sorted(before) != sorted(after):
        return ""
    names = {id(value): name for name, value in attributes(instance).items()}
    if all(it in names for it in before):
        order = [names[it] for it in before]
        swapped = [names[it] for it in after]
        return (
            f"its children are flattened as ({_words(order)}), and come back as ({_words(swapped)})"
        )
    return "its children come back in another order than they were flattened in"


def _words(names: list[str]) -> str:
    return ", ".join(names)


def _lost(instance: Any, restored: Any) -> str:
    """Attributes that are not the same object or number afterwards."""
    before, after = attributes(instance), attributes(restored)
    for name, value in before.items():
        if name not in after:
            return f"its attribute `{name}` is gone after it was put together again"
        other = after[name]
        if value is other:
            continue
        if is_array(value) and other is None:
            return f"its array `{name}` is gone after it was put together again"
        plain = (bool, int, float, str)
        if isinstance(value, plain) and isinstance(other, plain) and value != other:
            return f"its attribute `{name}` was {value!r}, and is {other!r} afterwards"
    return ""


def _static_array(instance: Any, structure: Any) -> str:
    """An array among the static data of a class, where JAX neither traces nor compares it."""
    data = structure.node_data()
    for static in jax.tree.leaves(data[1] if data else None):
        if is_array(static):
            names = [name for name, value in attributes(instance).items() if value is static]
            which = f"`{names[0]}` is" if names else "one of its arrays is"
            return f"{which} part of its static data, which JAX compares and hashes, not traces"
    return ""

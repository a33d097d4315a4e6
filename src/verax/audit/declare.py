"""Axis names inside of a program: `verax.axes`."""

from __future__ import annotations

from typing import Any, TypeVar

import jax

from .trace.capture import is_auditing
from .trace.regions import Mark, mark_p

T = TypeVar("T")


def axes(x: T, names: str) -> T:
    """Say what the axes of an array mean; returns the array.

    An audit takes the names from here on, and reports where they contradict what it knows of the
    array already. Outside of an audit only their number is checked, while tracing: the compiled
    program is the same with and without.

    Args:
        x: An array, or a pytree of arrays with the same axes.
        names: One name for each axis, separated by spaces; `_` for one that has none. A leading
            `...` stands for any number of axes without a name.

    Raises:
        ValueError: The array has another number of axes.

    Example:
        >>> import jax.numpy as jnp
        >>> import verax
        >>> def pool(x):
        ...     x = verax.axes(x, "batch time feat")
        ...     return verax.axes(x.mean(axis=1), "batch feat")
        >>> pool(jnp.ones((4, 3, 2))).shape
        (4, 2)
    """
    words = names.split()
    return jax.tree.map(lambda leaf: _one(leaf, names, words), x)


def _one(leaf: Any, names: str, words: list[str]) -> Any:
    shape = jax.numpy.shape(leaf)
    given = words[1:] if words[:1] == ["..."] else words
    missing = len(shape) - len(given)
    if missing < 0 or (missing and given is words):
        raise ValueError(
            f"axes {names!r} name {len(given)}, but the array has {len(shape)}: shape {shape}"
        )
    if not is_auditing():
        return leaf
    found = (*(None,) * missing, *(None if word == "_" else word for word in given))
    return mark_p.bind(leaf, mark=Mark("axes", axes=found))

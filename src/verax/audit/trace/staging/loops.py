"""Loops whose equations keep all of their carry."""

from __future__ import annotations

from functools import wraps
from typing import Any

import jax

from ..regions import Mark, has_type, mark_p


def scan(original: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """A scan whose equation keeps all of its carry.

    JAX takes out of a scan what the body hands on as it got it. A mark on the way in makes it
    another value, and holds the place of a leaf in the carry.
    """

    @wraps(function)
    def body(carry: Any, x: Any) -> Any:
        return function(marked("carry", carry), marked("slice", x))

    return original(body, *args, **kwargs)


def while_loop(original: Any, condition: Any, function: Any, *args: Any, **kwargs: Any) -> Any:
    """A while loop whose equation keeps all of its carry."""

    @wraps(function)
    def body(carry: Any) -> Any:
        return function(marked("carry", carry))

    return original(condition, body, *args, **kwargs)


def marked(role: str, tree: Any) -> Any:
    """The arrays of a tree, each with its role and path."""

    def one(path: Any, leaf: Any) -> Any:
        if not has_type(leaf):
            return leaf  # Not an array; JAX says so in its own words.
        return mark_p.bind(leaf, mark=Mark(role, jax.tree_util.keystr(path)))

    return jax.tree.map_with_path(one, tree)

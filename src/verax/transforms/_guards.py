"""Telling traced values from real ones, and keeping them out of where they cannot go."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar, cast

import jax
from jax.core import Tracer

from ._names import name_of

C = TypeVar("C", bound=Callable[..., Any])


class NotJaxCompatibleError(TypeError):
    """A function that needs real values was called with a traced one.

    Example:
        >>> @no_jax_tracing
        ... def save(x):
        ...     print(x)
        >>> try:
        ...     jax.jit(save)(1.0)
        ... except NotJaxCompatibleError as error:
        ...     print(str(error).split(":")[0])
        save needs real values, but x is traced
    """


def is_traced(x: object) -> bool:
    """Whether any leaf of a tree is traced, and so has a shape and a type but no value yet.

    Example:
        >>> is_traced({"x": 1.0})
        False
        >>> jax.jit(lambda x: is_traced({"x": x, "y": 1.0}))(2.0)
        Array(True, dtype=bool)
    """
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(x))


def no_jax_tracing(fn: C) -> C:
    """Mark a function that cannot be used inside a transformation, such as one that does I/O.

    It sees what it is given: a function without arguments, or one that closes over a traced
    value, passes unnoticed.

    Example:
        >>> @no_jax_tracing
        ... def as_text(x):
        ...     return f"{x:.2f}"
        >>> as_text(1.0)
        '1.00'

    Raises:
        NotJaxCompatibleError: when it is called with a traced value.
    """

    @functools.wraps(fn)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if is_traced((args, kwargs)):
            raise NotJaxCompatibleError(_message(fn, args, kwargs))
        return fn(*args, **kwargs)

    return cast("C", guarded)


def _message(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    try:
        arguments = inspect.signature(fn).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # a wrong call, or a function that does not tell its signature
        arguments = {**{f"argument {n}": arg for n, arg in enumerate(args)}, **kwargs}
    place, tracer = next(
        (name + jax.tree_util.keystr(path), leaf)
        for name, argument in arguments.items()
        for path, leaf in jax.tree_util.tree_leaves_with_path(argument)
        if isinstance(leaf, Tracer)
    )
    return (
        f"{name_of(fn)} needs real values, but {place} is traced: {tracer}. Call {name_of(fn)} "
        f"outside of jit, vmap, grad and the like; or, to call it while the compiled program "
        f"runs, through jax.pure_callback or jax.debug.callback."
    )

"""Names for functions that have none."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def name_of(function: Any) -> str:
    """The name of a function; of the function in a partial one; or of the class of an object."""
    if hasattr(function, "__name__"):
        return function.__name__
    if isinstance(function, functools.partial):
        return name_of(function.func)
    return type(function).__name__


def named(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a name if it has none.

    JAX names compiled programs, profiles and error messages after the function. A partial function
    and a callable object have no name to give.
    """
    if hasattr(function, "__name__"):
        return function

    @functools.wraps(function)
    def with_name(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    with_name.__name__ = with_name.__qualname__ = name_of(function)
    inner = function.func if isinstance(function, functools.partial) else function
    with_name.__doc__ = inner.__doc__
    return with_name

"""`jax.linearize` with types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeVar, TypeVarTuple, overload

import jax

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVarTuple("T")
R = TypeVar("R")
Aux = TypeVar("Aux")


@overload
def linearize(
    fn: Callable[[*T], R], *primals: *T, has_aux: Literal[False] = False
) -> tuple[R, Callable[[*T], R]]: ...
@overload
def linearize(
    fn: Callable[[*T], tuple[R, Aux]], *primals: *T, has_aux: Literal[True]
) -> tuple[R, Callable[[*T], R], Aux]: ...
def linearize(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of `fn` at a point, and the linear function that approximates it there.

    Example:
        >>> value, slope = linearize(lambda x: x**2, 3.0)
        >>> float(value), float(slope(1.0)), float(slope(2.0))
        (9.0, 6.0, 12.0)
        >>> value, slope, note = linearize(lambda x: (x**2, "square"), 3.0, has_aux=True)
        >>> note
        'square'

    Args:
        fn: the function.
        *primals: the point.
        has_aux: whether `fn` returns a pair whose second part is passed on as it is.

    Returns:
        The value, a function from a change of the arguments to the change of the value, and, with
        `has_aux`, the second part of what `fn` returned.
    """
    return jax.linearize(fn, *primals, has_aux=has_aux)

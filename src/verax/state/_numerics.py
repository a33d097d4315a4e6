"""Numerical helpers: sums that do not drift, membership by table."""

from __future__ import annotations

from typing import Any, TypeVar

import jax
import jax.numpy as jnp

T = TypeVar("T")


def kahan_summation(*summands: T, compensate: T | None = None) -> tuple[T, T]:
    """Add trees, and keep what rounding takes away for the next addition.

    A sum of many small terms loses a little at each step. Here the loss is measured and handed
    back as the second result; given to the next call, it is made good there. See W. Kahan,
    "Further remarks on reducing truncation errors", 1965.

    Example:
        >>> total, lost = kahan_summation(jnp.float32(1e8), jnp.float32(1.0))
        >>> for _ in range(999):
        ...     total, lost = kahan_summation(total, jnp.float32(1.0), compensate=lost)
        >>> int(total) - 10**8
        1000

    Args:
        *summands: trees of one structure. When a sum goes on, the first is the sum so far.
        compensate: the second result of the call before; without it, nothing was lost yet.

    Returns:
        The sum, and what to pass as `compensate` next time.
    """
    if not summands:
        raise ValueError("kahan_summation needs at least one summand.")
    total, *rest = summands
    lost = jax.tree.map(jnp.zeros_like, total) if compensate is None else compensate
    for summand in rest:
        term = jax.tree.map(lambda new, loss: new - loss, summand, lost)
        larger = jax.tree.map(lambda old, new: old + new, total, term)
        lost = jax.tree.map(_loss, larger, total, term)
        total = larger
    return total, lost


def _loss(larger: Any, total: Any, term: Any) -> Any:
    loss = (larger - total) - term
    # Of a sum that is infinite nothing is lost; infinity minus infinity would spoil it for good.
    return jnp.where(jnp.isfinite(loss), loss, jnp.zeros_like(loss))


def isin(a: jax.Array, b: jax.Array, max_item: int) -> jax.Array:
    """Which entries of `a` occur in `b`, for integers from 0 up to a known bound.

    `jnp.isin` compares or sorts; this looks each entry up in a table of `max_item` booleans.
    Integers outside of the bound are in no table: they are never found.

    Example:
        >>> isin(jnp.array([0, 3, 5]), jnp.array([5, 0, 0]), max_item=6)
        Array([ True, False,  True], dtype=bool)

    Args:
        a: integers to look for.
        b: integers to look among.
        max_item: larger than every integer in both.

    Returns:
        Booleans in the shape of `a`.

    Raises:
        TypeError: if `a` or `b` is not of integers.
    """
    # The last place of the table is for everything out of bounds, and stays false.
    among = jnp.zeros(max_item + 1, bool).at[_places("b", b, max_item)].set(True)
    table = among.at[max_item].set(False)
    return table.at[_places("a", a, max_item)].get(mode="promise_in_bounds")


def _places(name: str, items: Any, max_item: int) -> jax.Array:
    items = jnp.asarray(items)
    if not jnp.issubdtype(items.dtype, jnp.integer):
        raise TypeError(
            f"isin looks up integers in a table, but {name} is {items.dtype}{list(items.shape)}. "
            f"Use jnp.isin for other types."
        )
    if items.dtype.itemsize < 4:
        items = items.astype(jnp.int32)  # max_item need not fit in a narrow type
    return jnp.where((items >= 0) & (items < max_item), items, max_item)

"""Random keys, as many as are asked for."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import jax

if TYPE_CHECKING:
    from collections.abc import Iterator


def key_chain(rng: jax.Array, shape: tuple[int, ...] = ()) -> Iterator[jax.Array]:
    """Keys without end, each made from `rng` and its number in the row.

    The n-th key depends on `rng` and n alone. `rng` itself is not among them, and should not be
    used for anything else.

    Example:
        >>> keys = key_chain(jax.random.key(0))
        >>> float(jax.random.normal(next(keys))) == float(jax.random.normal(next(keys)))
        False
        >>> next(key_chain(jax.random.key(0), shape=(3,))).shape
        (3,)

    Args:
        rng: a key, of the new style or the old.
        shape: how many keys to give at a time, as the shape of an array of keys.
    """
    for number in count():
        key = jax.random.fold_in(rng, number)
        yield jax.random.split(key, shape) if shape else key

"""A key's identity, what consumes it, and how values hold keys.

Keys of the old style (words of `uint32`) are followed word by word: word `w` of key `k` is the
number `k * WORDS + w`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import jax
import numpy as np

from ..program import Step, Value

# Of larger arrays no element is told from another.
LIMIT = 4096
WORDS = 8


@dataclass(eq=False, frozen=True)
class Key:
    """An identity of a key.

    `kind` says how it comes about: "input", "constant", "seed", "child" (of a split), "folded",
    "each" (lane or iteration of an array of keys), "carry", "final" (a carry after its loop),
    "lane" (of a result of a map or loop), "picked" (with an index that is not known), "choice"
    (one of several), "clone" (by `jax.random.clone`), "unknown". `index` is the child's number.
    `step` made it.
    """

    number: int
    kind: str
    parents: tuple[Key, ...] = ()
    index: Any = None
    value: Value | None = None
    step: Step | None = None

    def line(self) -> list[Key]:
        """This key and the keys that it is derived from, nearest first; the first parent only."""
        found: list[Key] = [self]
        while found[-1].parents:
            found.append(found[-1].parents[0])
        return found


@dataclass(frozen=True, eq=False)
class Use:
    """A step that consumes a key.

    Its `kind` is "draw", "split", "loop" (which does so in its first iteration), or "next": a loop
    hands the key on, and the next iteration consumes it.
    """

    key: Key
    kind: str
    step: Step


@dataclass(frozen=True, eq=False)
class Clamped:
    """An index beyond the end of an array of keys: JAX takes the last key instead."""

    step: Step
    index: int
    count: int
    keys: tuple[Key, ...]


def is_typed(value: Value) -> bool:
    """Whether a value holds keys of the new style."""
    return dtype_name(value.dtype).startswith("key<")


@cache
def dtype_name(dtype: Any) -> str:
    """A dtype as text; asked for often."""
    return str(dtype)


def folds_like_splits(value: Value) -> bool:
    """Whether `fold_in(key, i)` is the same key as `split(key)[i]`, as it is by default."""
    partitionable = getattr(jax.config, "jax_threefry_partitionable", True)
    return bool(partitionable) and dtype_name(value.dtype) == "key<fry>"


def key_shape(value: Value) -> tuple[int, ...] | None:
    """The shape of an array of keys, without their words; `None` if it holds no whole keys."""
    if is_typed(value):
        return value.shape
    if dtype_name(value.dtype) == "uint32" and value.shape and value.shape[-1] in (2, 4):
        return value.shape[:-1]
    return None


def may_hold_keys(value: Value) -> bool:
    """Whether keys, or words of keys, can be in a value."""
    return is_typed(value) or dtype_name(value.dtype) == "uint32"


def words(numbers: np.ndarray, count: int) -> np.ndarray:
    """The words of keys of the old style."""
    return numbers[..., None] * WORDS + np.arange(count)

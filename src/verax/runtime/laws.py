"""How the values of an assertion combine when it runs more than once.

An assertion in a loop, or on many devices, comes out as one. Its predicate says whether all
runs passed. The values of its message come from the first run that failed; what a repair needs
may instead be the largest value over all failures, so that a single repair is enough.

| earlier | later  | `FIRST` | `LARGEST`               |
|---------|--------|---------|-------------------------|
| passed  | passed | later   | later                   |
| passed  | failed | later   | later                   |
| failed  | passed | earlier | earlier                 |
| failed  | failed | earlier | elementwise maximum     |
"""

from __future__ import annotations

import enum
from typing import Any

import jax
import jax.numpy as jnp

from verax.channel import Fold, Visit


class Law(enum.Enum):
    """Which values to keep of several failures."""

    FIRST = "first"
    LARGEST = "largest"


FIRST = Law.FIRST
LARGEST = Law.LARGEST


def combine(earlier: Visit, later: Visit) -> Visit:
    """Merge two runs of one assertion, lane by lane, by the table above."""
    lanes = later.path.ndim - 1
    old, new = earlier.payload, later.payload
    old_passed, new_passed = passed(old, lanes), passed(new, lanes)

    def first(old: Any, new: Any) -> Any:
        return _select(old_passed, new, old)

    def largest(old: Any, new: Any) -> Any:
        both = _select(new_passed, old, jax.lax.max(old, new))
        return _select(old_passed, new, both)

    payload = {
        "predicate": old["predicate"] & new["predicate"],
        "first": jax.tree.map(first, old["first"], new["first"]),
        "largest": jax.tree.map(largest, old["largest"], new["largest"]),
    }
    return Visit(payload, first(earlier.path, later.path))


def neutral(shapes: Any) -> Any:
    """The payload of an assertion that did not run: it passes."""
    zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    return {**zeros, "predicate": jnp.ones(shapes["predicate"].shape, bool)}


def passed(payload: Any, lanes: int) -> Any:
    """Whether an assertion passed, for each lane."""
    predicate = payload["predicate"]
    own_axes = tuple(range(lanes, predicate.ndim))
    return predicate.all(axis=own_axes) if own_axes else predicate


def _select(per_lane: Any, if_true: Any, if_false: Any) -> Any:
    """Choose whole lanes. `jnp.where` would do, at the price of a nested call to trace."""
    lanes = tuple(range(per_lane.ndim))
    condition = jax.lax.broadcast_in_dim(per_lane, if_true.shape, lanes)
    return jax.lax.select(condition, if_true, if_false)


IN_LOOPS = Fold(combine, neutral)
